const SECOND_MS = 1_000;

/** Counts an event. @returns whether there were more than the limit within one second, with this one */
export type RateMeter = () => boolean;

/**
 * Says when events become so many that they should be handled together.
 * @param perSecond limit
 * @param clock milliseconds
 */
export function createRateMeter(perSecond: number, clock: () => number): RateMeter {
  /** Times of the latest events, as a ring. */
  const times = new Array<number>(perSecond).fill(Number.NEGATIVE_INFINITY);
  let next = 0;
  return () => {
    const now = clock();
    const oldest = times[next]!;
    times[next] = now;
    next = (next + 1) % perSecond;
    return now - oldest < SECOND_MS;
  };
}
