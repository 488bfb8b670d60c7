import type { Collection } from 'mongodb';
import type { ApiKeyRecord } from './api-keys.js';
import type { DatabaseClock } from './clock.js';

/** How old the stored time of the last use may be. */
const ACCURACY_MS = 60_000;

/**
 * The last use of each key. A key in use is written once a minute, by one of the processes, and no request waits for it.
 * @returns a function that notes a use of the key as it was just read
 */
export function createKeyUses(apiKeys: Collection<ApiKeyRecord>, now: DatabaseClock) {
  const writing = new Set<string>();

  return ({ _id, last_used_at }: Pick<ApiKeyRecord, '_id' | 'last_used_at'>): void => {
    const at = now();
    const due = new Date(at.getTime() - ACCURACY_MS);
    if (writing.has(_id) || (last_used_at && last_used_at > due)) return;
    writing.add(_id);
    void apiKeys
      .updateOne(
        { _id, last_used_at: { $not: { $gt: due } } },
        { $set: { last_used_at: at } },
        { writeConcern: { w: 1, journal: false } },
      )
      // The next request writes it.
      .catch(() => undefined)
      .finally(() => writing.delete(_id));
  };
}
