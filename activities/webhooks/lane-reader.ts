import type { DeliveryRecord } from '../../storage/webhooks/deliveries.js';
import type { LaneQueue, QueueHead } from '../../storage/webhooks/lane-queue.js';

/** The deliveries that a lane has to send, read ahead of the claims. */
export interface LaneReader {
  /** @returns each receiver in the lane, with its first delivery */
  heads(now: Date): Promise<QueueHead[]>;
  /** Whether `take` needs no query. */
  holds(receiver: string): boolean;
  /**
   * Takes the first deliveries of a receiver that are due.
   * @returns at most so many, and whether there may be more
   */
  take(receiver: string, wanted: number, now: Date): Promise<{ taken: DeliveryRecord[]; more: boolean }>;
  /** @returns these deliveries */
  read: LaneQueue['read'];
  /** Reads everything again, because others have changed deliveries that were read ahead. */
  forget(): void;
}

/** Claims for which deliveries are read at once, and at most so many deliveries. */
const CLAIMS_AHEAD = 4;
const MAX_AHEAD = 200;
/** How long the list of receivers is used; a receiver that is new in the lane waits for so long. */
const HEADS_VALID_MS = 100;
/** How long deliveries that were read ahead are used. The claim leaves out what has changed since. */
const AHEAD_VALID_MS = 1_000;

interface Ahead {
  deliveries: DeliveryRecord[];
  more: boolean;
  validUntil: number;
}

/**
 * Reads the deliveries of several claims at a time, so that most claims need no query before them.
 * @param clock milliseconds
 */
export function createLaneReader(
  queue: Pick<LaneQueue, 'heads' | 'listDue' | 'read'>,
  lane: number,
  clock = () => performance.now(),
): LaneReader {
  let heads: QueueHead[] = [];
  let validUntil = Number.NEGATIVE_INFINITY;
  const ahead = new Map<string, Ahead>();

  return {
    async heads(now) {
      const due = heads.filter((head) => head.due <= now);
      if (due.length > 0 && clock() < validUntil && due.every((head) => holds(head.receiver))) return heads;
      for (const receiver of ahead.keys()) if (!holds(receiver)) ahead.delete(receiver);
      heads = await queue.heads(lane);
      validUntil = clock() + HEADS_VALID_MS;
      return heads;
    },
    holds,
    async take(receiver, wanted, now) {
      if (!holds(receiver)) ahead.set(receiver, await readAhead(receiver, wanted, now));
      const { deliveries, more } = ahead.get(receiver)!;
      const taken = deliveries.splice(0, wanted);
      return { taken, more: more || deliveries.length > 0 };
    },
    read: queue.read,
    forget() {
      validUntil = Number.NEGATIVE_INFINITY;
      ahead.clear();
    },
  };

  function holds(receiver: string): boolean {
    const held = ahead.get(receiver);
    return held !== undefined && held.deliveries.length > 0 && clock() < held.validUntil;
  }

  async function readAhead(receiver: string, wanted: number, now: Date): Promise<Ahead> {
    const limit = Math.min(CLAIMS_AHEAD * wanted, MAX_AHEAD);
    const deliveries = await queue.listDue(lane, receiver, now, limit);
    return { deliveries, more: deliveries.length === limit, validUntil: clock() + AHEAD_VALID_MS };
  }
}
