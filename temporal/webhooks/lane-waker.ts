import { FLAG_VALID_MS, type LaneFlags } from '../../domain/webhooks/lanes.js';

/**
 * Wakes lanes with few signals. A lane lowers its flag before its last looks, and these last longer than a process
 * relies on a raised flag, so a delivery that is stored before its lane is woken is seen.
 * @param signal starts the lane, or makes it look again
 * @returns a function that resolves when the lane runs
 */
export function createLaneWaker(
  signal: (lane: number) => Promise<void>,
  flags: Pick<LaneFlags, 'raise' | 'lower'> | undefined,
): (lane: number) => Promise<void> {
  if (!flags) return signal;
  const { raise, lower } = flags;
  /** Until when each lane's flag is known to be raised, on the process's clock. */
  const raisedUntil = new Map<number, number>();

  return async (lane) => {
    const readAt = performance.now();
    if ((raisedUntil.get(lane) ?? 0) > readAt) return;
    if (!(await raise(lane))) {
      try {
        await signal(lane);
      } catch (error) {
        // The next delivery tries again.
        await lower(lane).catch(() => undefined);
        throw error;
      }
    }
    raisedUntil.set(lane, readAt + FLAG_VALID_MS);
  };
}
