/** How many attempts each receiver has in progress in this process, so that a receiver that hangs harms only itself. */
export interface ReceiverLoad {
  /** Whether a first attempt may run inside the workflow task: the receiver has room and was not slow recently. */
  isQuick(receiver: string): boolean;
  /** Whether another attempt may start. */
  hasRoom(receiver: string): boolean;
  /** Runs an attempt and counts it while it lasts. */
  track<T>(receiver: string, attempt: () => Promise<T>): Promise<T>;
}

/** Attempts in progress per receiver, by whether it was slow recently. */
const MAX_IN_FLIGHT = { quick: 50, slow: 10 };
/** Attempts in progress at all slow receivers together. Less than the worker's slots, so that other retries find one. */
const MAX_SLOW_IN_FLIGHT = 250;
/** How long a receiver counts as slow. */
const SLOW_FOR_MS = 60_000;

/** @param slowMs an attempt that takes longer makes its receiver slow */
export function createReceiverLoad(slowMs: number): ReceiverLoad {
  const inFlight = new Map<string, number>();
  const slowUntil = new Map<string, number>();

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
        const remaining = inFlight.get(receiver)! - 1;
        if (remaining === 0) inFlight.delete(receiver);
        else inFlight.set(receiver, remaining);
      }
    },
  };
  return load;

  function isSlow(receiver: string): boolean {
    const until = slowUntil.get(receiver);
    if (until === undefined) return false;
    if (until > performance.now()) return true;
    slowUntil.delete(receiver);
    return false;
  }

  function slowInFlight(): number {
    let sum = 0;
    for (const receiver of slowUntil.keys()) if (isSlow(receiver)) sum += inFlight.get(receiver) ?? 0;
    return sum;
  }
}
