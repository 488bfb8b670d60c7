import type { Binary, ClientSession, Filter } from 'mongodb';
import type {
  ConnectorKind,
  ConnectorSchedule,
  ConnectorSettings,
  S3Credentials,
  S3Settings,
  SyncCounts,
  Validators,
} from '../../domain/connectors/connectors.js';
import type { SyncStatus } from '../../domain/connectors/states.js';
import type { OwnedDatabase } from '../../domain/content/databases.js';
import type { Sealer } from '../../domain/sealing.js';
import type { Access } from '../collections.js';
import { newestFirst, type PageQuery } from '../queries.js';
import { jsonSealingFor } from '../sealing.js';

export interface ConnectorRecord {
  /** `con_…` */
  _id: string;
  org: string;
  kind: ConnectorKind;
  /** The database's internal id. */
  database_id: string;
  /** The database's name. */
  database: string;
  collection: string;
  /** Fits the schema of the kind. */
  settings: ConnectorSettings;
  /** Encrypted JSON. */
  sealed_credentials: Binary | null;
  schedule: ConnectorSchedule;
  /** The latest sync. */
  sync: SyncRecord | null;
  /** Validators of the feed at the last sync without a failure. */
  listing: Validators;
  /** Counts the changes: times cannot, as two changes can be within one millisecond, and each process estimates the time. */
  revision: number;
  /** Whether Temporal may not know the latest change: the schedule, or the deletion. */
  pending: boolean;
  /** Set when the connector was deleted. Its record stays until its removal has finished. */
  deleted_at: Date | null;
  /** Whether the removal also deletes the items that the connector has added. */
  remove_items: boolean;
  /** Time after which the reconciler checks a pending connector again; absent before its first check. */
  check_at?: Date;
  created_at: Date;
  updated_at: Date;
}

/** The latest sync of a connector, inside the connector's record. */
export interface SyncRecord {
  number: number;
  /** The connector's revision when the sync began. */
  revision: number;
  status: SyncStatus;
  started_at: Date;
  finished_at: Date | null;
  /** Position in the listing; null before its first page and after its last. */
  cursor: string | null;
  /** Whether the listing has been read to its end. */
  listed: boolean;
  /** Whether resources were left out because of the limit of a sync. */
  truncated: boolean;
  /** Validators of the listing; the connector keeps them when the sync ends without a failure. */
  validators: Validators;
  steps: number;
  removed: number;
  error_code: string | null;
  error_message: string | null;
  /** Null until the sync has finished. */
  counts: SyncCounts | null;
}

export type Connectors = ReturnType<typeof createConnectors>;

/** A connector without its latest sync. */
export type ListedConnector = Omit<ConnectorRecord, 'sync'>;

/** A change to a connector; absent fields do not change. */
export interface ConnectorChange {
  settings?: ConnectorSettings;
  /** null removes the credentials. */
  credentials?: S3Credentials | null | undefined;
  schedule?: ConnectorSchedule;
}

/** A further change, which the reconciler has not checked yet. */
const changed = { $unset: { check_at: '' }, $inc: { revision: 1 } } as const;

/** Connectors. Clients and syncs do not see a deleted connector. Credentials are sealed. */
export function createConnectors({ connectors, now }: Access<'connectors' | 'now'>, sealer: Sealer) {
  const { seal, open } = jsonSealingFor<S3Credentials>(sealer, 'connector-credentials');
  const deletion = (now: Date, removeItems: boolean) => ({
    $set: {
      deleted_at: now,
      remove_items: removeItems,
      sealed_credentials: null,
      pending: true,
      updated_at: now,
    },
    ...changed,
  });

  return {
    /** @returns the record as stored, with sealed credentials */
    async add(
      record: Omit<ConnectorRecord, 'sealed_credentials'>,
      credentials: S3Credentials | null,
      tx?: ClientSession,
    ): Promise<ConnectorRecord> {
      const sealed_credentials = credentials && seal(record._id, credentials);
      const stored: ConnectorRecord = { ...record, sealed_credentials };
      await connectors.forOrg(record.org).insertOne(stored, { session: tx });
      return stored;
    },

    /** @returns null when the connector is unknown, deleted, or another organisation's */
    findForOrg(org: string, id: string): Promise<ConnectorRecord | null> {
      return connectors.forOrg(org).findOne({ _id: id, deleted_at: null });
    },

    /** @returns a connector that may be deleted; null when it is unknown or another organisation's */
    findAnyForOrg(org: string, id: string): Promise<ConnectorRecord | null> {
      return connectors.forOrg(org).findOne({ _id: id });
    },

    /** @returns one page, newest first, without the syncs: the cursor of one can take 10 MB */
    listForOrg(org: string, page: PageQuery): Promise<ListedConnector[]> {
      return newestFirst(connectors.forOrg(org), { deleted_at: null }, page)
        .project<ListedConnector>({ sync: 0 })
        .toArray();
    },

    /**
     * Stored credentials are kept only for the destination that they were sent with. The filter checks it, so that no
     * other change can come between.
     * @returns the changed connector; null when there is none, or its credentials belong to another destination
     */
    update(org: string, id: string, { credentials, ...fields }: ConnectorChange): Promise<ConnectorRecord | null> {
      const keepsCredentials = fields.settings !== undefined && credentials === undefined;
      return connectors.forOrg(org).findOneAndUpdate(
        {
          _id: id,
          deleted_at: null,
          ...(keepsCredentials ? { $or: [{ sealed_credentials: null }, destinationOf(fields.settings!)] } : {}),
        },
        {
          $set: {
            ...fields,
            // The settings may name another source, whose versions have other validators.
            ...(fields.settings === undefined ? {} : { listing: {} }),
            ...(credentials === undefined ? {} : { sealed_credentials: credentials && seal(id, credentials) }),
            pending: true,
            updated_at: now(),
          },
          ...changed,
        },
      );
    },

    /** Deletes a connector for clients and syncs. @returns the deleted connector, or null when there was none */
    markDeleted(org: string, id: string, removeItems: boolean): Promise<ConnectorRecord | null> {
      return connectors.forOrg(org).findOneAndUpdate({ _id: id, deleted_at: null }, deletion(now(), removeItems));
    },

    /** Deletes the connectors of a database that is being deleted. The reconciler ends their schedules. */
    async markDatabaseDeleted({ _id, org }: OwnedDatabase): Promise<void> {
      await connectors.forOrg(org).updateMany({ database_id: _id, deleted_at: null }, deletion(now(), false));
    },

    /**
     * Records that Temporal knows this state of the connector.
     * @returns false when it was changed or removed since
     */
    async markApplied({ _id, org, revision }: ConnectorRecord): Promise<boolean> {
      const result = await connectors.forOrg(org).updateOne({ _id, revision }, { $set: { pending: false } });
      return result.matchedCount === 1;
    },

    /** Connectors whose latest change Temporal may not know. */
    stale: connectors.stale((before) => ({ pending: true, updated_at: { $lt: before } })),

    /** Removes the record of a deleted connector. */
    async remove(org: string, id: string): Promise<void> {
      await connectors.forOrg(org).deleteOne({ _id: id, deleted_at: { $ne: null } });
    },

    /** @returns the plain credentials, or null when there are none */
    openCredentials({ _id, sealed_credentials }: ConnectorRecord): S3Credentials | null {
      return sealed_credentials && open(_id, sealed_credentials);
    },
  };
}

/** The fields that decide which server receives the credentials. */
const DESTINATION = ['endpoint', 'bucket', 'path_style'] as const satisfies readonly (keyof S3Settings)[];

function destinationOf(settings: ConnectorSettings): Filter<ConnectorRecord> {
  return Object.fromEntries(DESTINATION.map((field) => [`settings.${field}`, (settings as S3Settings)[field]]));
}
