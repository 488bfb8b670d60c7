import { LRUCache } from 'lru-cache';
import { type OpenGroup, openGroup, type SizedWork } from '../domain/group-limits.js';
import { createRateMeter, type RateMeter } from '../domain/rate-meter.js';
import { settledWithin } from '../domain/shared-calls.js';

/** How the work of one request is started. */
export interface BatchedRequest<Work> {
  /** Id of the group that it shares with work of other requests; null for work with its own workflow. */
  group: string | null;
  /**
   * Must be called once: the group starts when the requests of all of its members have been accepted or rejected, or the
   * others have waited long enough for one.
   * @param stored the work as it was stored, or null if it was not
   */
  settle(stored: Work | null): void;
}

/** Collects small work that arrives in many requests, so that it shares workflows. */
export interface RequestBatcher<Work> {
  /**
   * @param key work of different keys never shares a workflow
   * @param size null for work that needs its own workflow
   */
  add(key: string, size: SizedWork | null): BatchedRequest<Work>;
  /** Starts the groups that wait for more, and resolves when their workflows have been started. */
  close(): Promise<void>;
}

export interface RequestBatcherOptions<Work> {
  /** @returns an id for a new group */
  newId: () => string;
  /** Starts the workflow of a group; logs its errors. */
  start: (group: string, members: Work[]) => Promise<void>;
  /** Requests of one key in a second; the work of more shares workflows. */
  perSecond?: number;
  /** Requests of one key in progress; with more, their work shares workflows. A busy machine accepts few a second. */
  concurrent?: number;
  /** How long a group waits for more, and longer while the group before it is being started: starts that take long cost much. */
  waitMs?: number;
  /** Milliseconds. */
  clock?: () => number;
}

/** The latest requests of a key. */
interface Arrivals<Work> {
  tooMany: RateMeter;
  inProgress: number;
  filling?: Group<Work>;
  /** The start of the latest group. */
  starting?: Promise<void>;
}

interface Group<Work> {
  id: string;
  room: OpenGroup;
  /** Resolved when the group takes no more members. */
  closed: PromiseWithResolvers<void>;
  members: Promise<Work | null>[];
}

/** Keys that are remembered: those with the latest requests. */
const MAX_KEYS = 1_000;
/** How long members that have been accepted wait for one whose commit hangs. */
const LONGEST_COMMIT_MS = 2_000;
/** How long a group waits at most for the start of the group before it. */
const LONGEST_WAIT_MS = 2_000;

/** At a low rate all work gets its own workflow at once. */
export function createRequestBatcher<Work>({
  newId,
  start,
  perSecond = 15,
  concurrent = 4,
  waitMs = 200,
  clock = () => performance.now(),
}: RequestBatcherOptions<Work>): RequestBatcher<Work> {
  const keys = new LRUCache<string, Arrivals<Work>>({ max: MAX_KEYS });
  const starting = new Set<Promise<void>>();
  let closing = false;

  return {
    add(key, size) {
      const arrivals = arrivalsOf(key);
      arrivals.inProgress += 1;
      // Evaluated first: it counts the request.
      const busy = arrivals.tooMany() || arrivals.inProgress > concurrent;
      const group = busy && !closing && size ? groupFor(arrivals, size) : null;
      const member = Promise.withResolvers<Work | null>();
      group?.members.push(member.promise);
      return {
        group: group?.id ?? null,
        settle(stored) {
          arrivals.inProgress -= 1;
          member.resolve(stored);
        },
      };
    },

    async close() {
      closing = true;
      for (const { filling } of keys.values()) filling?.closed.resolve();
      await Promise.all(starting);
    },
  };

  function groupFor(arrivals: Arrivals<Work>, size: SizedWork): Group<Work> {
    const { filling } = arrivals;
    if (filling?.room.add(size)) return filling;
    filling?.closed.resolve();
    const group: Group<Work> = { id: newId(), room: openGroup(), closed: Promise.withResolvers(), members: [] };
    group.room.add(size);
    arrivals.filling = group;
    const started = startLater(arrivals, group).finally(() => starting.delete(started));
    starting.add(started);
    return group;
  }

  async function startLater(arrivals: Arrivals<Work>, group: Group<Work>): Promise<void> {
    await settledWithin(group.closed.promise, waitMs);
    await settledWithin(Promise.race([arrivals.starting, group.closed.promise]), LONGEST_WAIT_MS);
    if (arrivals.filling === group) arrivals.filling = undefined;
    const accepted: Work[] = [];
    let pending = group.members.length;
    const settled = Promise.all(
      group.members.map(async (member) => {
        const work = await member;
        pending -= 1;
        if (work !== null) accepted.push(work);
      }),
    );
    while (pending > 0 || accepted.length > 0) {
      await settledWithin(settled, LONGEST_COMMIT_MS);
      // Taken out: members that are accepted later need another start. While the group's workflow runs, a start does
      // nothing, and the reconciler finds them.
      const members = accepted.splice(0);
      if (members.length === 0) continue;
      arrivals.starting = start(group.id, members);
      await arrivals.starting;
    }
  }

  function arrivalsOf(key: string): Arrivals<Work> {
    const known = keys.get(key);
    if (known) return known;
    const arrivals = { tooMany: createRateMeter(perSecond, clock), inProgress: 0 };
    keys.set(key, arrivals);
    return arrivals;
  }
}
