import { FLAG_VALID_MS, type LaneFlags } from '../../domain/webhooks/lanes.js';

/**
 * Wakes lanes with few signals. A lane lowers its flag before it checks for deliveries for the last time, and goes on
 * checking for longer than a process relies on a raised flag. So it finds every delivery that was stored before its lane
 * was woken.
 * @param signal starts the lane, or makes it check again
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
  /** Calls in progress, which others join while they may rely on their outcome. */
  const waking = new Map<number, { until: number; woken: Promise<void> }>();

  return (lane) => {
    const now = performance.now();
    if ((raisedUntil.get(lane) ?? 0) > now) return Promise.resolve();
    const joined = waking.get(lane);
    if (joined && joined.until > now) return joined.woken;
    const call = { until: now + FLAG_VALID_MS, woken: wake(lane, now) };
    waking.set(lane, call);
    const forget = () => {
      if (waking.get(lane) === call) waking.delete(lane);
    };
    call.woken.then(forget, forget);
    return call.woken;
  };

  async function wake(lane: number, readAt: number): Promise<void> {
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
  }
}
