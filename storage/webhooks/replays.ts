import type { ClientSession } from 'mongodb';
import type { DeliveryFilter } from '../../domain/webhooks/delivery-filters.js';
import { DAY_MS } from '../../domain/webhooks/delivery-policy.js';
import type { ReplayStatus } from '../../domain/webhooks/states.js';
import type { Access } from '../collections.js';

/** A request to send many deliveries again. */
export interface ReplayRecord {
  /** `rpl_…` */
  _id: string;
  org: string;
  filter: DeliveryFilter;
  status: ReplayStatus;
  /** Deliveries that matched when the replay was requested. */
  matching: number;
  /** Deliveries that have been requeued. */
  requeued: number;
  /** The last delivery that was handled, in the order of ids; null before the first. */
  position: string | null;
  /** Time after which the reconciler checks the replay's workflow. */
  check_at: Date;
  /** When MongoDB removes the record; null while the replay runs. */
  expires_at: Date | null;
  created_at: Date;
  updated_at: Date;
}

export type Replays = ReturnType<typeof createReplays>;

/** How long a finished replay is kept. */
const RETENTION_MS = 30 * DAY_MS;

export function createReplays({ replays, now: clock }: Access<'replays' | 'now'>) {
  return {
    async add(replay: ReplayRecord, tx?: ClientSession): Promise<void> {
      await replays.forOrg(replay.org).insertOne(replay, { session: tx });
    },

    /** @returns null when the replay is unknown or another organisation's */
    findForOrg(org: string, replayId: string): Promise<ReplayRecord | null> {
      return replays.forOrg(org).findOne({ _id: replayId });
    },

    /** Stores that the deliveries up to `position` have been handled, and how many of them were requeued. */
    async advance({ _id, org, position }: ReplayRecord, next: string, requeued: number): Promise<void> {
      const now = clock();
      await replays
        .forOrg(org)
        .updateOne({ _id, position }, { $set: { position: next, updated_at: now, check_at: now }, $inc: { requeued } });
    },

    /** running -> completed | cancelled */
    async end(org: string, replayId: string, status: 'completed' | 'cancelled'): Promise<void> {
      const now = clock();
      const expires_at = new Date(now.getTime() + RETENTION_MS);
      await replays
        .forOrg(org)
        .updateOne({ _id: replayId, status: 'running' }, { $set: { status, updated_at: now, expires_at } });
    },

    /** Replays that run. */
    stale: replays.stale(() => ({ status: 'running' as const })),
  };
}
