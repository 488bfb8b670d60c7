import { Binary, type ClientSession } from 'mongodb';
import type { ConnectorSchedule, ConnectorSettings, S3Credentials, SyncCounts } from '../domain/connectors.js';
import type { Sealer } from '../domain/sealing.js';
import type { BegunSync, SyncOutcome } from '../domain/work.js';
import { type Alongside, type Mongo, writeAlongside } from './mongo.js';
import type { ConnectorRecord, SyncRecord, Validators } from './records/connectors.js';

export type Connectors = ReturnType<typeof createConnectors>;

export interface ConnectorChange {
  settings?: ConnectorSettings;
  /** null removes them. */
  credentials?: S3Credentials | null | undefined;
  schedule?: ConnectorSchedule;
}

/** Connectors and the state of their latest sync. A deleted one is known to its removal only. */
export function createConnectors({ client, connectors }: Mongo, sealer: Sealer) {
  const context = (id: string) => `connector-credentials/${id}`;
  const seal = (id: string, credentials: S3Credentials) =>
    new Binary(sealer.seal(JSON.stringify(credentials), context(id)));
  const ofSync = ({ connector, org, sync }: BegunSync) => ({
    _id: connector,
    org,
    'sync.number': sync,
    'sync.status': 'running' as const,
    deleted_at: null,
  });

  return {
    async add(
      record: Omit<ConnectorRecord, 'sealed_credentials'>,
      credentials: S3Credentials | null,
      alongside?: Alongside,
    ): Promise<ConnectorRecord> {
      const sealed_credentials = credentials && seal(record._id, credentials);
      const whole: ConnectorRecord = { ...record, sealed_credentials };
      await writeAlongside(client, (session) => connectors.insertOne(whole, { session }), alongside);
      return whole;
    },

    /** @returns null for a deleted one and another organisation's as well */
    find(org: string, id: string): Promise<ConnectorRecord | null> {
      return connectors.findOne({ _id: id, org, deleted_at: null });
    },

    /** Deleted or not. */
    findAny(org: string, id: string): Promise<ConnectorRecord | null> {
      return connectors.findOne({ _id: id, org });
    },

    /** Newest first. @param before the last id of the page before */
    list(org: string, { before, limit }: { before?: string | undefined; limit: number }): Promise<ConnectorRecord[]> {
      return connectors
        .find({ org, deleted_at: null, ...(before === undefined ? {} : { _id: { $lt: before } }) })
        .sort({ _id: -1 })
        .limit(limit)
        .toArray();
    },

    /** @returns the connector as it is now, null when there is none */
    change(org: string, id: string, { credentials, ...fields }: ConnectorChange): Promise<ConnectorRecord | null> {
      return connectors.findOneAndUpdate(
        { _id: id, org, deleted_at: null },
        {
          $set: {
            ...fields,
            // Another source: what the old one said about its version says nothing any more.
            ...(fields.settings === undefined ? {} : { listing: {} }),
            ...(credentials === undefined ? {} : { sealed_credentials: credentials && seal(id, credentials) }),
            pending: true,
            updated_at: new Date(),
          },
        },
        { returnDocument: 'after' },
      );
    },

    /** From now on there is none for clients and for syncs. @returns null when there was none */
    markDeleted(org: string, id: string, removeItems: boolean): Promise<ConnectorRecord | null> {
      const now = new Date();
      return connectors.findOneAndUpdate(
        { _id: id, org, deleted_at: null },
        {
          $set: {
            deleted_at: now,
            remove_items: removeItems,
            sealed_credentials: null,
            pending: true,
            updated_at: now,
          },
        },
        { returnDocument: 'after' },
      );
    },

    /** Temporal knows about this state of it; a later change is pending still. */
    async settled({ _id, updated_at }: ConnectorRecord): Promise<void> {
      await connectors.updateOne({ _id, updated_at }, { $set: { pending: false } });
    },

    /** Those of a database that is being deleted, too: the sweep ends their schedules. */
    async markDeletedOf(tenant: string): Promise<void> {
      const now = new Date();
      await connectors.updateMany(
        { tenant, deleted_at: null },
        { $set: { deleted_at: now, remove_items: false, sealed_credentials: null, pending: true, updated_at: now } },
      );
    },

    pendingBefore(before: Date, limit: number): Promise<ConnectorRecord[]> {
      return connectors
        .find({ pending: true, updated_at: { $lt: before } })
        .limit(limit)
        .toArray();
    },

    async remove(org: string, id: string): Promise<void> {
      await connectors.deleteOne({ _id: id, org, deleted_at: { $ne: null } });
    },

    /** @returns null when there are none */
    credentialsOf({ _id, sealed_credentials }: ConnectorRecord): S3Credentials | null {
      if (sealed_credentials === null) return null;
      return JSON.parse(sealer.open(sealed_credentials.value(), context(_id))) as S3Credentials;
    },

    /** @returns the connector with its new sync, null when it is gone */
    begin(org: string, id: string): Promise<ConnectorRecord | null> {
      const sync: Record<keyof SyncRecord, unknown> = {
        number: { $add: [{ $ifNull: ['$sync.number', 0] }, 1] },
        status: 'running',
        started_at: '$$NOW',
        finished_at: null,
        cursor: null,
        listed: false,
        truncated: false,
        validators: { $literal: {} },
        steps: { $literal: 0 },
        removed: { $literal: 0 },
        error_code: null,
        error_message: null,
        counts: null,
      };
      return connectors.findOneAndUpdate({ _id: id, org, deleted_at: null }, [{ $set: { sync } }], {
        returnDocument: 'after',
      });
    },

    /** @returns null when it is gone, or this sync is not its latest or has ended */
    current(ref: BegunSync): Promise<ConnectorRecord | null> {
      return connectors.findOne(ofSync(ref));
    },

    /**
     * A step of the sync, in the transaction of what it has done. @returns false when the sync is over: then nothing of
     * it may be written
     */
    async step(
      ref: BegunSync,
      session: ClientSession,
      step: {
        cursor?: string | null;
        listed?: boolean;
        truncated?: boolean;
        validators?: Validators;
        removed?: number;
      } = {},
    ): Promise<boolean> {
      const { removed = 0, ...sync } = step;
      const set = Object.fromEntries(Object.entries(sync).map(([name, value]) => [`sync.${name}`, value]));
      const result = await connectors.updateOne(
        ofSync(ref),
        // Something is always written, so that a deletion at the same time conflicts with the transaction.
        { $set: set, $inc: { 'sync.steps': 1, 'sync.removed': removed } },
        { session },
      );
      return result.matchedCount === 1;
    },

    /** @param listing what the next listing is to be asked by */
    async end(ref: BegunSync, outcome: SyncOutcome, counts: SyncCounts, listing: Validators): Promise<void> {
      await connectors.updateOne(ofSync(ref), {
        $set: {
          'sync.status': outcome.status,
          'sync.finished_at': new Date(),
          'sync.error_code': outcome.error_code ?? null,
          'sync.error_message': outcome.error_message ?? null,
          'sync.cursor': null,
          'sync.counts': counts,
          listing,
        },
      });
    },
  };
}
