import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import type { Collection } from 'mongodb';
import { isDuplicateKey } from './transactions.js';

/** The right of one process to do work that must not run twice at a time. */
export interface LeaseRecord {
  /** What is leased. */
  _id: string;
  /** `<host>/<pid>/<random>`: who holds it. */
  owner: string;
  /** Until when, on the server's clock; renewed while the work runs. */
  until: Date;
}

export type Leases = ReturnType<typeof createLeases>;

/** How long a lease outlives a process that was killed. */
const LEASE_MS = 15_000;

/**
 * Leases in MongoDB, so that one process of all does a piece of work. Times are those of the server, because the clocks of
 * processes differ.
 */
export function createLeases({ leases }: { leases: Collection<LeaseRecord> }, leaseMs = LEASE_MS) {
  /** Takes the lease when it is free, or renews it. */
  async function take(name: string, owner: string): Promise<boolean> {
    const isFree = { $lte: [{ $ifNull: ['$until', new Date(0)] }, '$$NOW'] };
    const mayTake = { $or: [isFree, { $eq: ['$owner', owner] }] };
    const taken = {
      owner: { $cond: [mayTake, owner, '$owner'] },
      until: { $cond: [mayTake, { $add: ['$$NOW', leaseMs] }, '$until'] },
    };
    try {
      const options = { upsert: true, returnDocument: 'after' } as const;
      return (await leases.findOneAndUpdate({ _id: name }, [{ $set: taken }], options))?.owner === owner;
    } catch (error) {
      // Another process took it for the first time.
      if (isDuplicateKey(error)) return false;
      throw error;
    }
  }

  return {
    /**
     * Does the work if no other process does it now. The lease is renewed until the work ends; a process that stands still
     * for longer loses it, so each write of the work must check that nobody has taken over.
     * @returns null when another process holds the lease
     */
    async whileHeld<Result>(
      name: string,
      work: (owner: string) => Promise<Result>,
    ): Promise<{ result: Result } | null> {
      const owner = `${hostname()}/${process.pid}/${randomUUID()}`;
      if (!(await take(name, owner))) return null;
      // A renewal that fails is repeated; if MongoDB cannot be reached, the work fails too.
      const renewal = setInterval(() => void take(name, owner).catch(() => undefined), leaseMs / 3);
      try {
        return { result: await work(owner) };
      } finally {
        clearInterval(renewal);
        await leases.deleteOne({ _id: name, owner });
      }
    },

    /** @returns who holds the lease; null when it is free */
    async holder(name: string): Promise<string | null> {
      const held = await leases.findOne({ _id: name, $expr: { $gt: ['$until', '$$NOW'] } });
      return held?.owner ?? null;
    },
  };
}
