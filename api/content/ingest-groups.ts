import { setTimeout as wait } from 'node:timers/promises';
import type { Logger } from 'pino';
import { isSmall, type OpenGroup, openGroup } from '../../domain/content/small-items.js';
import { newBatchId } from '../../domain/ids.js';
import { createRateMeter, type RateMeter } from '../../domain/rate-meter.js';
import type { ItemRecord } from '../../storage/content/items.js';
import type { ContentStarters } from '../../temporal/content/starters.js';
import { startOrDefer } from '../../temporal/workflow-starter.js';

/** How an item that is alone in its request is indexed. */
export interface IngestPlace {
  /** The group that it shares with items of other requests; null for an item with its own workflow. */
  group: { batch: string; group: number } | null;
  /**
   * Must be called once: the group is indexed when the requests of all of its items have been accepted or rejected.
   * @param stored the item, or null if it was not stored
   */
  settle(stored: ItemRecord | null): void;
}

export interface IngestGroups {
  /** An item that is large, a file, or one of few has no group. */
  join(item: ItemRecord): IngestPlace;
  /** Starts the groups that wait for more items, and resolves when their workflows have been started. */
  close(): Promise<void>;
}

export interface IngestGroupOptions {
  starters: Pick<ContentStarters, 'startIngest'>;
  log: Pick<Logger, 'warn'>;
  /** Single items of one collection in a second; more share workflows. */
  perSecond?: number;
  /** Requests for one collection in progress; with more, their items share workflows. A busy machine accepts few a second. */
  concurrent?: number;
  /** How long a group waits for more items. */
  waitMs?: number;
  /** Milliseconds. */
  clock?: () => number;
}

/** The single items of late of a collection. */
interface Arrivals {
  tooMany: RateMeter;
  inProgress: number;
  last: number;
  filling?: Group;
}

interface Group {
  batch: string;
  room: OpenGroup;
  ids: Set<string>;
  /** Aborted when the group takes no more items. */
  closed: AbortController;
  members: Promise<ItemRecord | null>[];
}

interface Member {
  batch: string;
  settle(stored: ItemRecord | null): void;
}

/** Collections whose arrivals are remembered, before those without any in the last seconds are forgotten. */
const MAX_COLLECTIONS = 1_000;
const IDLE_MS = 2_000;

/**
 * Collects small texts that arrive in many requests of one item, so that they share a workflow like those of one request.
 * At a low rate each item gets its own workflow at once.
 */
export function createIngestGroups({
  starters,
  log,
  perSecond = 15,
  concurrent = 4,
  waitMs = 200,
  clock = () => performance.now(),
}: IngestGroupOptions): IngestGroups {
  const collections = new Map<string, Arrivals>();
  const starting = new Set<Promise<void>>();
  let closing = false;

  return {
    join(item) {
      const arrivals = arrivalsOf(item);
      arrivals.inProgress += 1;
      // Evaluated first: it counts the item.
      const busy = arrivals.tooMany() || arrivals.inProgress > concurrent;
      const together = busy && !closing && item.source.kind === 'text' && isSmall(item);
      const member = together ? joinGroup(arrivals, item) : null;
      return {
        group: member && { batch: member.batch, group: 0 },
        settle(stored) {
          arrivals.inProgress -= 1;
          member?.settle(stored);
        },
      };
    },

    async close() {
      closing = true;
      for (const { filling } of collections.values()) filling?.closed.abort();
      await Promise.all(starting);
    },
  };

  function joinGroup(arrivals: Arrivals, item: ItemRecord): Member {
    const { filling } = arrivals;
    // Its versions are told apart by their batch, so a group never has two versions of one item.
    if (filling && !filling.ids.has(item.id) && filling.room.add(item)) return addTo(filling, item);
    filling?.closed.abort();
    const group = open();
    arrivals.filling = group;
    group.room.add(item);
    const member = addTo(group, item);
    const closed = closeLater(group).then(() => {
      if (arrivals.filling === group) arrivals.filling = undefined;
    });
    const started = closed.then(() => startWorkflow(group, item)).finally(() => starting.delete(started));
    starting.add(started);
    return member;
  }

  function arrivalsOf({ database_id, collection }: ItemRecord): Arrivals {
    const now = clock();
    const key = `${database_id}/${collection}`;
    const known = collections.get(key);
    if (known) {
      known.last = now;
      return known;
    }
    if (collections.size >= MAX_COLLECTIONS) {
      for (const [other, { last, inProgress }] of collections) {
        if (now - last > IDLE_MS && inProgress === 0) collections.delete(other);
      }
    }
    const arrivals = { tooMany: createRateMeter(perSecond, clock), inProgress: 0, last: now };
    collections.set(key, arrivals);
    return arrivals;
  }

  async function closeLater({ closed }: Group): Promise<void> {
    await wait(waitMs, undefined, { signal: closed.signal }).catch(() => undefined);
  }

  async function startWorkflow({ batch, members }: Group, { org, database }: ItemRecord): Promise<void> {
    const items = (await Promise.all(members)).filter((item) => item !== null);
    if (items.length === 0) return;
    await startOrDefer(log, 'ingest', { batch }, () => starters.startIngest({ org, batch }, items, database));
  }
}

function open(): Group {
  return { batch: newBatchId(), room: openGroup(), ids: new Set(), closed: new AbortController(), members: [] };
}

function addTo({ batch, ids, members }: Group, item: ItemRecord): Member {
  ids.add(item.id);
  let settle: Member['settle'] = () => undefined;
  members.push(
    new Promise((resolve) => {
      settle = resolve;
    }),
  );
  return { batch, settle };
}
