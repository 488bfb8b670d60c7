/** Attempts that a worker process can have in progress at the same time. */
export interface AttemptSlots {
  /** First attempts, which run inside their workflow task. */
  first: number;
  /** All attempts together. */
  all: number;
}

/** How many attempts each receiver has in progress in this process, so that a receiver that hangs harms only itself. */
export interface ReceiverLoad {
  /** Whether a first attempt may run inside the workflow task: a slot is free, and the receiver was not slow recently. */
  isQuick(receiver: string): boolean;
  /** Whether another attempt may start. */
  hasRoom(receiver: string): boolean;
  /** Runs an attempt and counts it while it lasts. */
  track<T>(receiver: string, attempt: () => Promise<T>): Promise<T>;
  /** Counts up to so many attempts that start soon. @returns how many there is room for */
  reserve(receiver: string, wanted: number): number;
  /** Frees reserved places that are not used. */
  free(receiver: string, places: number): void;
  /** Runs an attempt in a reserved place, and frees the place. */
  useReserved<T>(receiver: string, attempt: () => Promise<T>): Promise<T>;
  /** Runs a first attempt inside its workflow task, and counts it until it has ended or has left the task. */
  trackFirst<T>(receiver: string, attempt: () => Promise<T>): Promise<T>;
}

/** How many attempts in lanes each organisation has in progress in this process, however many receivers it has. */
export interface OrganisationLoad {
  /** How many attempts may start. */
  room(org: string): number;
  add(org: string, change: number): void;
}

/** Attempts in progress per receiver, by whether it was slow recently. */
const MAX_IN_FLIGHT = { quick: 50, slow: 10 };
/** Part of the slots that all slow receivers together may occupy, so that other retries find one. */
const SLOW_SHARE = 0.5;
/** Part of the slots for receivers without an attempt in progress. */
const RESERVE = 0.1;
/** How long a receiver counts as slow. */
const SLOW_FOR_MS = 60_000;

/**
 * @param slowMs an attempt that takes longer makes its receiver slow
 * @param clock milliseconds
 */
export function createReceiverLoad(slowMs: number, slots: AttemptSlots, clock = () => performance.now()): ReceiverLoad {
  const first = createCounts();
  const all = createCounts();
  /** Until when each receiver counts as slow; the first ends first. */
  const slowUntil = new Map<string, number>();
  /** Attempts in progress at slow receivers. */
  let slowInFlight = 0;

  const load: ReceiverLoad = {
    isQuick: (receiver) => !isSlow(receiver) && load.hasRoom(receiver) && hasShare(first, receiver, slots.first),
    hasRoom(receiver) {
      const own = all.of(receiver);
      if (!isSlow(receiver)) return own < MAX_IN_FLIGHT.quick && hasShare(all, receiver, slots.all);
      return own < MAX_IN_FLIGHT.slow && slowInFlight < slots.all * SLOW_SHARE;
    },
    track(receiver, attempt) {
      count(receiver, 1);
      return load.useReserved(receiver, attempt);
    },
    reserve(receiver, wanted) {
      let places = 0;
      for (; places < wanted && load.hasRoom(receiver); places += 1) count(receiver, 1);
      return places;
    },
    free: (receiver, places) => count(receiver, -places),
    async useReserved(receiver, attempt) {
      const slow = setTimeout(() => markSlow(receiver), slowMs).unref();
      try {
        return await attempt();
      } finally {
        clearTimeout(slow);
        count(receiver, -1);
      }
    },
    trackFirst: (receiver, attempt) => first.during(receiver, attempt),
  };
  return load;

  function count(receiver: string, change: number): void {
    all.add(receiver, change);
    if (slowUntil.has(receiver)) slowInFlight += change;
  }

  function markSlow(receiver: string): void {
    // Added again, so that the marks stay in the order in which they end.
    if (!slowUntil.delete(receiver)) slowInFlight += all.of(receiver);
    slowUntil.set(receiver, clock() + SLOW_FOR_MS);
  }

  function isSlow(receiver: string): boolean {
    const now = clock();
    for (const [marked, until] of slowUntil) {
      if (until > now) break;
      slowUntil.delete(marked);
      slowInFlight -= all.of(marked);
    }
    return slowUntil.has(receiver);
  }
}

/**
 * A receiver may occupy as many slots as are free, so one gets about half of them, and a second a quarter or more. The
 * reserve is for receivers that have no attempt in progress.
 */
function hasShare(counts: Counts, receiver: string, slots: number): boolean {
  const own = counts.of(receiver);
  const free = slots - counts.total();
  return own === 0 ? free > 0 : own < free - slots * RESERVE;
}

/** An organisation may occupy as many slots as are free, as a receiver may. */
export function createOrganisationLoad(slots: Pick<AttemptSlots, 'all'>): OrganisationLoad {
  const counts = createCounts();
  return {
    room(org) {
      const own = counts.of(org);
      const free = slots.all - counts.total();
      const share = Math.ceil((free - slots.all * RESERVE - own) / 2);
      return own === 0 && free > 0 ? Math.max(1, share) : Math.max(0, share);
    },
    add: counts.add,
  };
}

type Counts = ReturnType<typeof createCounts>;

/** Attempts in progress by receiver. */
function createCounts() {
  const inFlight = new Map<string, number>();
  let total = 0;
  return {
    of: (receiver: string): number => inFlight.get(receiver) ?? 0,
    total: (): number => total,
    add,
    async during<T>(receiver: string, attempt: () => Promise<T>): Promise<T> {
      add(receiver, 1);
      try {
        return await attempt();
      } finally {
        add(receiver, -1);
      }
    },
  };

  function add(receiver: string, change: number): void {
    total += change;
    const now = (inFlight.get(receiver) ?? 0) + change;
    if (now === 0) inFlight.delete(receiver);
    else inFlight.set(receiver, now);
  }
}
