import { randomUUID } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import type { Access } from '../collections.js';
import { isDuplicateKey } from '../transactions.js';

/** Which process compacts a table of the search index. */
export interface CompactionLeaseRecord {
  /** The name of the table. */
  _id: string;
  /** A new id for each compaction. */
  owner: string;
  /** When the owner counts as dead, on the server's clock; renewed while it compacts. */
  until: Date;
  /** Whether removals of rows have made the compaction fail, and so wait until it has ended. */
  exclusive: boolean;
}

export type CompactionLeases = ReturnType<typeof createCompactionLeases>;

/** How long a dead owner keeps others from compacting its table. */
const LEASE_MS = 30_000;
/** How long a removal waits. After that the compaction must repeat its work. */
const MAX_WAIT_MS = 30_000;
const POLL_MS = 100;

/**
 * Leases of the tables that are compacted: one process at a time compacts a table. The leases save work and do not protect the
 * table: commits of an owner whose lease has expired are compared with those of others as all commits are.
 */
export function createCompactionLeases({ compactionLeases }: Access<'compactionLeases'>, leaseMs = LEASE_MS) {
  const hasEnded = { $lte: ['$until', '$$NOW'] };
  const fromNow = { $add: ['$$NOW', leaseMs] };

  async function take(table: string, owner: string): Promise<boolean> {
    const taken = (value: unknown, field: string) => ({ $cond: [hasEnded, value, field] });
    const change = {
      owner: taken(owner, '$owner'),
      until: taken(fromNow, '$until'),
      exclusive: taken(false, '$exclusive'),
    };
    try {
      const record = await compactionLeases.findOneAndUpdate({ _id: table }, [{ $set: change }], {
        upsert: true,
        returnDocument: 'after',
      });
      return record?.owner === owner;
    } catch (error) {
      if (isDuplicateKey(error)) return false;
      throw error;
    }
  }

  return {
    /**
     * Does work as the owner of a table's lease.
     * @param work gets a function that makes removals of other processes wait until the lease ends
     * @returns false without doing the work when another process is the owner
     */
    async own(table: string, work: (makeExclusive: () => Promise<void>) => Promise<void>): Promise<boolean> {
      const owner = randomUUID();
      if (!(await take(table, owner))) return false;
      const own = { _id: table, owner };
      const renewal = setInterval(() => {
        // The next renewal may succeed; without one the lease ends.
        compactionLeases.updateOne(own, [{ $set: { until: fromNow } }]).catch(() => undefined);
      }, leaseMs / 3);
      renewal.unref();
      try {
        await work(async () => {
          await compactionLeases.updateOne(own, { $set: { exclusive: true } });
        });
      } finally {
        clearInterval(renewal);
        await compactionLeases.deleteOne(own);
      }
      return true;
    },

    /** Resolves when no owner needs the table for itself, or after half a minute. */
    async whenShared(table: string): Promise<void> {
      const exclusive = { _id: table, exclusive: true, $expr: { $not: [hasEnded] } };
      const waitedEnough = performance.now() + MAX_WAIT_MS;
      while ((await compactionLeases.countDocuments(exclusive, { limit: 1 })) > 0) {
        if (performance.now() > waitedEnough) return;
        await wait(POLL_MS);
      }
    },
  };
}
