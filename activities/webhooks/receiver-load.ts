/** What each receiver costs this process at the moment, so that one that hangs harms only itself. */
export interface ReceiverLoad {
  /** Whether a first attempt may ride in the workflow task: not for a receiver that was slow a moment ago. */
  isQuick(receiver: string): boolean;
  /** Whether another attempt may be made beside those under way. */
  hasRoom(receiver: string): boolean;
  /** Runs an attempt and counts it while it lasts. */
  track<T>(receiver: string, attempt: () => Promise<T>): Promise<T>;
}

/** Attempts under way at once to one receiver, of a process: fewer once it has been slow. */
const MAX_IN_FLIGHT = { quick: 50, slow: 10 };
/** The same to all slow receivers together: less than the worker's slots, so that retries of the others find one. */
const MAX_SLOW_IN_FLIGHT = 250;
/** How long a receiver that was slow is taken for one. */
const SLOW_FOR_MS = 60_000;

/** @param slowMs an attempt that lasts longer makes its receiver a slow one */
export function createReceiverLoad(slowMs: number): ReceiverLoad {
  const inFlight = new Map<string, number>();
  const slowUntil = new Map<string, number>();
  function isSlow(receiver: string): boolean {
    const until = slowUntil.get(receiver);
    if (until === undefined || until > performance.now()) return until !== undefined;
    slowUntil.delete(receiver);
    return false;
  }

  function slowInFlight(): number {
    let sum = 0;
    for (const receiver of slowUntil.keys()) if (isSlow(receiver)) sum += inFlight.get(receiver) ?? 0;
    return sum;
  }

  const load: ReceiverLoad = {
    isQuick: (receiver) => !isSlow(receiver) && load.hasRoom(receiver),
    hasRoom(receiver) {
      const own = inFlight.get(receiver) ?? 0;
      if (!isSlow(receiver)) return own < MAX_IN_FLIGHT.quick;
      return own < MAX_IN_FLIGHT.slow && slowInFlight() < MAX_SLOW_IN_FLIGHT;
    },
    async track(receiver, attempt) {
      inFlight.set(receiver, (inFlight.get(receiver) ?? 0) + 1);
      const slow = setTimeout(() => slowUntil.set(receiver, performance.now() + SLOW_FOR_MS), slowMs);
      try {
        return await attempt();
      } finally {
        clearTimeout(slow);
        const left = inFlight.get(receiver)! - 1;
        if (left === 0) inFlight.delete(receiver);
        else inFlight.set(receiver, left);
      }
    },
  };
  return load;
}
