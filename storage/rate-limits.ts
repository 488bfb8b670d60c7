import type { Collection } from 'mongodb';
import type { Logger } from 'pino';

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
  take(key: string): RateLimitState;
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
  /** Of all processes, when this process last asked. */
  shared: number;
  /** Of this process, not yet in MongoDB. */
  own: number;
}

/** How often a process that gets requests writes its counts and reads those of the others. */
const SYNC_MS = 250;
/** Requests that a process may keep to itself: those that a client at its limit sends in this time. */
const ACCURACY_MS = 1_000;
/** Keys written at a time; further keys wait for the next time. */
const MAX_BATCH = 500;
/** Keys in memory. Beyond them the oldest is forgotten by this process. */
const MAX_KEYS = 100_000;

export type RateLimiter = ReturnType<typeof createRateLimiter>;

/**
 * Limits of requests by key, which hold over all processes within about a second. Each process decides by what it knows,
 * without waiting for MongoDB; a few times a second, the processes exchange the counts of keys that send more than a
 * little. While MongoDB is not available, each process limits by its own count.
 */
export function createRateLimiter(
  { rateLimits }: { rateLimits: Collection<RateLimitRecord> },
  log: Pick<Logger, 'warn'>,
) {
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
      const kept = Math.floor((requests * Math.min(ACCURACY_MS, limit.ms / 4)) / limit.ms);
      return {
        requests,
        take(key) {
          const window = currentWindow(`${name}/${key}`, limit);
          const allowed = window.shared + window.own < requests;
          if (allowed) {
            window.own += 1;
            if (window.own > kept) schedule(window);
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
    const window = { id, limit, endsAt: now + limit.ms, shared: 0, own: 0 };
    windows.set(id, window);
    return window;
  }

  function forgetOldest(): void {
    const [oldest] = windows.values();
    if (!oldest) return;
    windows.delete(oldest.id);
    due.delete(oldest);
  }

  function schedule(window: Window): void {
    due.add(window);
    if (scheduled) return;
    scheduled = true;
    setTimeout(async () => {
      await sync();
      forgetEnded();
      scheduled = false;
      const [next] = due;
      if (next) schedule(next);
    }, SYNC_MS).unref();
  }

  async function sync(): Promise<void> {
    const batch = [...due].slice(0, MAX_BATCH);
    const sent = new Map(batch.map((window) => [window.id, { window, requests: window.own }]));
    for (const window of batch) due.delete(window);
    try {
      await rateLimits.bulkWrite(
        batch.map((window) => ({ updateOne: { filter: { _id: window.id }, update: addition(window), upsert: true } })),
        // A lost count costs nothing.
        { ordered: false, writeConcern: { w: 1, journal: false } },
      );
      const states = await rateLimits
        .aggregate<{ _id: string; requests: number; left: number }>([
          { $match: { _id: { $in: [...sent.keys()] } } },
          { $project: { requests: 1, left: { $subtract: ['$ends_at', '$$NOW'] } } },
        ])
        .toArray();
      for (const { _id, requests, left } of states) {
        const { window, requests: written } = sent.get(_id)!;
        window.own -= written;
        window.shared = requests;
        window.endsAt = Date.now() + left;
      }
    } catch (error) {
      log.warn({ err: error }, 'rate limits not synchronised: this process limits by its own count');
    }
  }

  function forgetEnded(): void {
    const now = Date.now();
    for (const [id, window] of windows) if (window.endsAt <= now) windows.delete(id);
  }
}

/** Adds the requests of this process to the common window, or starts one when that has ended. By the server's clock. */
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
