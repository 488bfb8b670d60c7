import { Binary, type ClientSession, type Collection } from 'mongodb';
import type {
  ConnectorKind,
  ConnectorSchedule,
  ConnectorSettings,
  S3Credentials,
  SyncCounts,
  SyncStatus,
} from '../../domain/connectors/connectors.js';
import type { StartedSync, SyncOutcome } from '../../domain/connectors/workflow-contract.js';
import type { Sealer } from '../../domain/sealing.js';
import { newestFirst, type PageQuery } from '../queries.js';

export interface ConnectorRecord {
  /** `con_…` */
  _id: string;
  org: string;
  kind: ConnectorKind;
  /** The database's internal id, and its name. */
  database_id: string;
  database: string;
  collection: string;
  /** As its kind's schema gives them. */
  settings: ConnectorSettings;
  /** JSON. */
  sealed_credentials: Binary | null;
  schedule: ConnectorSchedule;
  sync: SyncRecord | null;
  /** The feed's validators at the last sync without a failure. */
  listing: Validators;
  /** What Temporal has yet to be told: its schedule, or that it is gone. */
  pending: boolean;
  /** Set when it was deleted; only its removal knows it from then on. */
  deleted_at: Date | null;
  remove_items: boolean;
  created_at: Date;
  updated_at: Date;
}

/** The connector's latest sync. */
export interface SyncRecord {
  number: number;
  status: SyncStatus;
  started_at: Date;
  finished_at: Date | null;
  /** Where the listing goes on; null at its beginning and after its end. */
  cursor: string | null;
  listed: boolean;
  /** More was listed than a sync takes in. */
  truncated: boolean;
  /** Of its listing; kept when it ends without a failure. */
  validators: Validators;
  steps: number;
  removed: number;
  error_code: string | null;
  error_message: string | null;
  /** Counted once it has ended. */
  counts: SyncCounts | null;
}

/** What a source said about a version of a resource, to be asked by at the next sync. */
export interface Validators {
  etag?: string | undefined;
  last_modified?: string | undefined;
}

export type Connectors = ReturnType<typeof createConnectors>;

export interface ConnectorChange {
  settings?: ConnectorSettings;
  /** null removes them. */
  credentials?: S3Credentials | null | undefined;
  schedule?: ConnectorSchedule;
}

/** Connectors and the state of their latest sync. A deleted one is known to its removal only. */
export function createConnectors({ connectors }: { connectors: Collection<ConnectorRecord> }, sealer: Sealer) {
  const context = (id: string) => `connector-credentials/${id}`;
  const seal = (id: string, credentials: S3Credentials) =>
    new Binary(sealer.seal(JSON.stringify(credentials), context(id)));
  const ofSync = ({ connector, org, sync }: StartedSync) => ({
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
      tx?: ClientSession,
    ): Promise<ConnectorRecord> {
      const sealed_credentials = credentials && seal(record._id, credentials);
      const whole: ConnectorRecord = { ...record, sealed_credentials };
      await connectors.insertOne(whole, { session: tx });
      return whole;
    },

    /** @returns null for a deleted one and another organisation's as well */
    findForOrg(org: string, id: string): Promise<ConnectorRecord | null> {
      return connectors.findOne({ _id: id, org, deleted_at: null });
    },

    /** Deleted or not. */
    findAnyForOrg(org: string, id: string): Promise<ConnectorRecord | null> {
      return connectors.findOne({ _id: id, org });
    },

    /** @returns one page, newest first */
    listForOrg(org: string, page: PageQuery): Promise<ConnectorRecord[]> {
      return newestFirst(connectors, { org, deleted_at: null }, page).toArray();
    },

    /** @returns the connector as it is now, null when there is none */
    update(org: string, id: string, { credentials, ...fields }: ConnectorChange): Promise<ConnectorRecord | null> {
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

    /** Temporal knows this state of the connector; a later change stays pending. */
    async markApplied({ _id, updated_at }: ConnectorRecord): Promise<void> {
      await connectors.updateOne({ _id, updated_at }, { $set: { pending: false } });
    },

    /** Those of a database that is being deleted, too: the sweep ends their schedules. */
    async markDatabaseDeleted(databaseId: string): Promise<void> {
      const now = new Date();
      await connectors.updateMany(
        { database_id: databaseId, deleted_at: null },
        { $set: { deleted_at: now, remove_items: false, sealed_credentials: null, pending: true, updated_at: now } },
      );
    },

    /** Connectors whose latest change Temporal may not know. */
    takeStale(before: Date, _next: Date, limit: number): Promise<ConnectorRecord[]> {
      return connectors
        .find({ pending: true, updated_at: { $lt: before } })
        .limit(limit)
        .toArray();
    },

    async remove(org: string, id: string): Promise<void> {
      await connectors.deleteOne({ _id: id, org, deleted_at: { $ne: null } });
    },

    /** @returns null when there are none */
    openCredentials({ _id, sealed_credentials }: ConnectorRecord): S3Credentials | null {
      if (sealed_credentials === null) return null;
      return JSON.parse(sealer.open(sealed_credentials.value(), context(_id))) as S3Credentials;
    },

    /** @returns the connector with its new sync, null when it is gone */
    startSync(org: string, id: string): Promise<ConnectorRecord | null> {
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
    findRunningSync(ref: StartedSync): Promise<ConnectorRecord | null> {
      return connectors.findOne(ofSync(ref));
    },

    /**
     * A step of the sync, in the transaction of what it has done. @returns false when the sync is over: then nothing of
     * it may be written
     */
    async recordStep(
      ref: StartedSync,
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
    async endSync(ref: StartedSync, outcome: SyncOutcome, counts: SyncCounts, listing: Validators): Promise<void> {
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
