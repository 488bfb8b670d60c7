export type SenderLoad = ReturnType<typeof createSenderLoad>;

/** An attempt that takes longer makes its receiver slow. */
export const SLOW_MS = 2_000;
/** How long a receiver counts as slow. */
const SLOW_FOR_MS = 60_000;
/** Attempts in progress per receiver, by whether it was slow recently. */
const MAX_IN_PROGRESS = { quick: 50, slow: 10 };
/** Part of the places that all slow receivers together may occupy, so that others find a place. */
const SLOW_SHARE = 0.5;
/** Part of the places for receivers and organisations without an attempt in progress. */
const RESERVE = 0.1;

const SECOND_MS = 1_000;

/**
 * How many attempts each receiver and each organisation has in progress in this process, so that a receiver that hangs harms
 * only itself, and an organisation has no more places than others, however many receivers it has.
 * @param places attempts that the process can have in progress
 * @param clock milliseconds
 * @param rateOf how many attempts at a receiver may start in a second; undefined: any number
 */
export function createSenderLoad(
  places: number,
  clock = () => performance.now(),
  rateOf: (receiver: string) => number | undefined = () => undefined,
) {
  const receivers = new Map<string, number>();
  /** When the latest attempts at each receiver with a rate started. */
  const starts = new Map<string, number[]>();
  const organisations = new Map<string, number>();
  let total = 0;
  /** Until when each receiver counts as slow; the first ends first. */
  const slowUntil = new Map<string, number>();
  /** Attempts in progress at slow receivers. */
  let slowInProgress = 0;

  return {
    isSlow,
    hasRoom,
    /** How many attempts of the organisation may start. */
    roomOf(org: string): number {
      const own = organisations.get(org) ?? 0;
      const free = places - total;
      const share = Math.ceil((free - places * RESERVE - own) / 2);
      return own === 0 && free > 0 ? Math.max(1, share) : Math.max(0, share);
    },
    /** Takes places for attempts that start soon. @returns how many there is room for, up to `wanted` */
    reserve(org: string, receiver: string, wanted: number): number {
      let reserved = 0;
      for (; reserved < wanted && hasRoom(receiver); reserved += 1) {
        count(org, receiver, 1);
        starts.get(receiver)?.push(clock());
      }
      return reserved;
    },
    /** Frees reserved places that are not used. */
    free(org: string, receiver: string, unused: number): void {
      count(org, receiver, -unused);
      starts.get(receiver)?.splice(-unused, unused);
    },
    /** Runs an attempt in a reserved place, and frees the place. */
    async use<T>(org: string, receiver: string, attempt: () => Promise<T>): Promise<T> {
      const slow = setTimeout(() => markSlow(receiver), SLOW_MS).unref();
      try {
        return await attempt();
      } finally {
        clearTimeout(slow);
        count(org, receiver, -1);
      }
    },
  };

  /** Whether an attempt at the receiver took long recently. */
  function isSlow(receiver: string): boolean {
    const now = clock();
    for (const [marked, until] of slowUntil) {
      if (until > now) break;
      slowUntil.delete(marked);
      slowInProgress -= receivers.get(marked) ?? 0;
    }
    return slowUntil.has(receiver);
  }

  function hasRoom(receiver: string): boolean {
    if (!isInRate(receiver)) return false;
    const own = receivers.get(receiver) ?? 0;
    if (isSlow(receiver)) return own < MAX_IN_PROGRESS.slow && slowInProgress < places * SLOW_SHARE;
    // A receiver may occupy as many places as are free: one gets about half of them, a second a quarter or more.
    const free = places - total;
    return own < MAX_IN_PROGRESS.quick && (own === 0 ? free > 0 : own < free - places * RESERVE);
  }

  /** Whether one more attempt may start: no second, or longer time for a rate below 1, has more starts than the rate allows. */
  function isInRate(receiver: string): boolean {
    const rate = rateOf(receiver);
    if (rate === undefined) {
      starts.delete(receiver);
      return true;
    }
    const most = Math.max(1, Math.floor(rate));
    const since = clock() - (most / rate) * SECOND_MS;
    const latest = (starts.get(receiver) ?? []).filter((at) => at > since);
    starts.set(receiver, latest);
    return latest.length < most;
  }

  function count(org: string, receiver: string, change: number): void {
    add(organisations, org, change);
    add(receivers, receiver, change);
    total += change;
    if (slowUntil.has(receiver)) slowInProgress += change;
  }

  function markSlow(receiver: string): void {
    // Added again, so that the marks stay in the order in which they end.
    if (!slowUntil.delete(receiver)) slowInProgress += receivers.get(receiver) ?? 0;
    slowUntil.set(receiver, clock() + SLOW_FOR_MS);
  }
}

function add(counts: Map<string, number>, key: string, change: number): void {
  const now = (counts.get(key) ?? 0) + change;
  if (now === 0) counts.delete(key);
  else counts.set(key, now);
}
