/**
 * Lanes: under load, a few workflows send the first attempts of all deliveries, because a workflow costs far more
 * than an attempt. Each receiver belongs to one lane, which bounds its attempts over all processes.
 */
import { createHash } from 'node:crypto';
import { createRateMeter } from '../rate-meter.js';

/** Decides which new deliveries go into a lane. */
export interface LaneSwitch {
  /**
   * Counts new deliveries of one transaction.
   * @param receivers of the deliveries
   * @returns the lane of each; null for a delivery with a workflow of its own
   */
  lanesFor(receivers: readonly string[]): (number | null)[];
}

/** Whether each lane runs, or will look at its deliveries again before it ends. */
export interface LaneFlags {
  /** Marks the lane as started, for `FLAG_LASTS_MS`. @returns whether its flag was up before */
  raise(lane: number): Promise<boolean>;
  /** Marks the lane as running, for `FLAG_LASTS_MS`. */
  renew(lane: number): Promise<void>;
  /** Marks the lane as about to end. */
  lower(lane: number): Promise<void>;
}

export interface LaneOptions {
  /** Number of lanes; 0: every delivery has its own workflow. */
  lanes: number;
  /** New deliveries of this process in a second; more use lanes. */
  perSecond?: number;
  /** New deliveries of one transaction; more use lanes. */
  perTransaction?: number;
  /** Milliseconds. */
  clock?: () => number;
}

/** How long a process may rely on a raised flag. A lane looks again when this time has passed after it lowered the flag. */
export const FLAG_VALID_MS = 1_000;

/** How long a flag stays up when the lane does not renew it, because it was killed or never started. */
export const FLAG_LASTS_MS = 5_000;

/** Lanes are for load: at low load each delivery has its own workflow from the start. */
export function createLaneSwitch({
  lanes,
  perSecond = 15,
  perTransaction = 10,
  clock = () => performance.now(),
}: LaneOptions): LaneSwitch {
  const tooMany = createRateMeter(perSecond, clock);

  return {
    lanesFor(receivers) {
      const large = receivers.length > perTransaction;
      return receivers.map((receiver) => {
        const busy = tooMany() || large;
        return busy && lanes > 0 ? laneOf(receiver, lanes) : null;
      });
    },
  };
}

/** @returns 0 to lanes-1 */
export function laneOf(receiver: string, lanes: number): number {
  return createHash('sha256').update(receiver).digest().readUInt32BE(0) % lanes;
}
