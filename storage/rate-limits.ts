import { setTimeout as wait } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { Access } from './collections.js';

/** The requests of one key in one window, of all API processes. */
export interface RateLimitRecord {
  /** `<limit>/<key>` */
  _id: string;
  requests: number;
  ends_at: Date;
}

export interface RateLimit {
  /** Requests in a window. */
  readonly requests: number;
  /** Counts a request of this key, unless it exceeds the limit. */
  take(key: string): Promise<RateLimitState>;
}

export interface RateLimitState {
  allowed: boolean;
  /** Requests that the window still allows. */
  remaining: number;
  /** Until the window ends; at least 1. */
  seconds: number;
}

/** The requests of one key as this process knows them. */
interface Window {
  id: string;
  limit: { requests: number; ms: number };
  /** `Date.now()` */
  endsAt: number;
  /** Requests at all processes, when this process last read the count. */
  shared: number;
  askedAt: number;
  /** Requests at this process that are not in MongoDB yet. */
  own: number;
  /** Set while this process reads or writes the shared count. */
  exchange: Promise<void> | undefined;
}

/** A window as MongoDB has it; `left` is the time until it ends, in milliseconds by the server's clock. */
type SharedCount = Pick<RateLimitRecord, '_id' | 'requests'> & { left: number };

/** How often a process that gets requests writes its counts. */
const SYNC_MS = 250;
/** How old the count of all processes may be when a process decides by it. */
const ACCURACY_MS = 1_000;
/** How long a request waits for that count. */
const ASK_MS = 200;
/** Keys written at a time; further keys wait for the next time. */
const MAX_BATCH = 500;
/** Keys in memory. Beyond them the oldest is forgotten by this process. */
const MAX_KEYS = 100_000;

export type RateLimiter = ReturnType<typeof createRateLimiter>;

/**
 * Limits of requests by key, which hold over all processes within about a second. A process reads the count of all
 * processes at most once a second for each key, and writes its own a few times a second, in one batch: not at all for
 * keys that send little. While MongoDB is not available, each process limits by its own count.
 */
export function createRateLimiter({ rateLimits }: Access<'rateLimits'>, log: Pick<Logger, 'warn'>) {
  const windows = new Map<string, Window>();
  const due = new Set<Window>();
  let scheduled = false;

  return {
    /**
     * @param name the same in every process
     * @returns null when `requests` is 0, which is no limit
     */
    limit(name: string, { requests, seconds }: { requests: number; seconds: number }): RateLimit | null {
      if (requests === 0) return null;
      const limit = { requests, ms: seconds * 1000 };
      const accuracyMs = Math.min(ACCURACY_MS, limit.ms / 4);
      // As many requests as a client at its limit sends in that time may stay in this process, until half of the limit is used.
      const kept = Math.floor((requests * accuracyMs) / limit.ms);
      return {
        requests,
        async take(key) {
          const window = currentWindow(`${name}/${key}`, limit);
          if (Date.now() - window.askedAt >= accuracyMs) await ask(window);
          const allowed = window.shared + window.own < requests;
          if (allowed) {
            window.own += 1;
            if (window.own > kept || window.shared + window.own > requests / 2) schedule(window);
          }
          return {
            allowed,
            remaining: Math.max(0, requests - window.shared - window.own),
            seconds: Math.max(1, Math.ceil((window.endsAt - Date.now()) / 1000)),
          };
        },
      };
    },
  };

  function currentWindow(id: string, limit: Window['limit']): Window {
    const now = Date.now();
    const known = windows.get(id);
    if (known && known.endsAt > now) return known;
    if (known) due.delete(known);
    windows.delete(id);
    if (windows.size >= MAX_KEYS) forgetOldest();
    const window = { id, limit, endsAt: now + limit.ms, shared: 0, askedAt: 0, own: 0, exchange: undefined };
    windows.set(id, window);
    return window;
  }

  function forgetOldest(): void {
    const [oldest] = windows.values();
    if (!oldest) return;
    windows.delete(oldest.id);
    due.delete(oldest);
  }

  /** Requests of one key that arrive at the same time share one read. */
  async function ask(window: Window): Promise<void> {
    window.exchange ??= exchange([window], async () => {
      const [count] = await readCounts([window.id]);
      if (count && count.left > 0) adopt(window, count);
    });
    await Promise.race([window.exchange, wait(ASK_MS, undefined, { ref: false })]);
  }

  function schedule(window: Window): void {
    due.add(window);
    if (scheduled) return;
    scheduled = true;
    setTimeout(async () => {
      const batch = [...due].slice(0, MAX_BATCH);
      // Empty when all that was due belonged to windows that have ended since.
      if (batch.length > 0) await sync(batch);
      forgetEnded();
      scheduled = false;
      const [next] = due;
      if (next) schedule(next);
    }, SYNC_MS).unref();
  }

  async function sync(batch: readonly Window[]): Promise<void> {
    const sent = new Map(batch.map((window) => [window.id, { window, requests: window.own }]));
    for (const window of batch) due.delete(window);
    const done = exchange(batch, async () => {
      await rateLimits.bulkWrite(
        batch.map((window) => ({ updateOne: { filter: { _id: window.id }, update: addition(window), upsert: true } })),
        // A lost count costs nothing.
        { ordered: false, writeConcern: { w: 1, journal: false } },
      );
      for (const count of await readCounts([...sent.keys()])) {
        const { window, requests } = sent.get(count._id)!;
        window.own -= requests;
        adopt(window, count);
      }
    });
    for (const window of batch) window.exchange = done;
    await done;
  }

  /** Logs an error: the process goes on with its own count. */
  async function exchange(batch: readonly Window[], work: () => Promise<void>): Promise<void> {
    for (const window of batch) window.askedAt = Date.now();
    try {
      await work();
    } catch (error) {
      log.warn({ err: error }, 'rate limits not exchanged: this process limits by its own count');
    } finally {
      for (const window of batch) window.exchange = undefined;
    }
  }

  function readCounts(ids: readonly string[]): Promise<SharedCount[]> {
    return rateLimits
      .aggregate<SharedCount>([
        { $match: { _id: { $in: [...ids] } } },
        { $project: { requests: 1, left: { $subtract: ['$ends_at', '$$NOW'] } } },
      ])
      .toArray();
  }

  function forgetEnded(): void {
    const now = Date.now();
    for (const [id, window] of windows) if (window.endsAt <= now) windows.delete(id);
  }
}

function adopt(window: Window, { requests, left }: SharedCount): void {
  window.shared = requests;
  window.endsAt = Date.now() + left;
}

/** Adds the requests of this process to the common window, or starts one when that has ended, by the server's clock. */
function addition({ own, endsAt }: Window) {
  const running = { $gt: ['$ends_at', '$$NOW'] };
  return [
    {
      $set: {
        requests: { $cond: [running, { $add: ['$requests', own] }, own] },
        ends_at: { $cond: [running, '$ends_at', { $add: ['$$NOW', Math.max(1, endsAt - Date.now())] }] },
      },
    },
  ];
}
