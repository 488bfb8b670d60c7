import type { ClientSession } from 'mongodb';
import {
  addFields,
  MAX_METADATA_FIELDS,
  type MetadataField,
  type OwnedDatabase,
} from '../../domain/content/databases.js';
import {
  type IndexGeneration,
  type IndexPlace,
  type NextIndex,
  type SearchEngine,
  TEXT_ANALYSIS,
} from '../../domain/content/index-generations.js';
import { type DatabaseStatus, UNFINISHED_DATABASE_STATUSES } from '../../domain/content/states.js';
import { ServiceError } from '../../domain/errors.js';
import { newDatabaseId } from '../../domain/ids.js';
import { createSharedReads } from '../../domain/shared-calls.js';
import type { Access } from '../collections.js';
import { newestFirst, type PageQuery } from '../queries.js';
import { isDuplicateKey } from '../transactions.js';

export interface DatabaseRecord {
  /** Internal id (`tnt_…`). */
  _id: string;
  org: string;
  name: string;
  status: DatabaseStatus;
  metadata_schema: MetadataField[];
  /** The search index that queries read. */
  index: IndexGeneration;
  /** The search index that a rebuild writes. */
  next_index?: NextIndex;
  /** Indexes that are not used any more and still exist. */
  retired_indexes?: RetiredIndex[];
  /** The highest number that an index of this database has had. */
  index_generations: number;
  /** Set by the provisioning workflow when the graph can be written. */
  graph_ready: boolean;
  /** Whether sources of it were rated: without ratings, queries read none and need fewer candidates. */
  rated?: boolean;
  /** Time after which the reconciler checks the workflow again; absent before its first check. */
  check_at?: Date;
  created_at: Date;
  updated_at: Date;
}

export interface RetiredIndex extends IndexPlace {
  retired_at: Date;
}

export type Databases = ReturnType<typeof createDatabases>;

/** The record of a database that is to be provisioned. */
export function newDatabase(
  org: string,
  name: string,
  now: Date,
  metadata_schema: MetadataField[] = [],
  engine: SearchEngine = 'lancedb',
): DatabaseRecord {
  return {
    _id: newDatabaseId(),
    org,
    name,
    status: 'provisioning',
    metadata_schema,
    index: { generation: 1, embeddings: null, analysis: TEXT_ANALYSIS, engine },
    index_generations: 1,
    graph_ready: false,
    created_at: now,
    updated_at: now,
  };
}

/**
 * Databases. Clients know a database by its name; all other records refer to its internal id.
 * @param engine holds the search indexes of new databases
 */
export function createDatabases({ databases, now }: Access<'databases' | 'now'>, engine?: SearchEngine) {
  const findByName = createSharedReads(
    (wanted: { org: string; name: string }) => JSON.stringify([wanted.org, wanted.name]),
    ({ org, name }) => databases.forOrg(org).findOne({ name }),
  );

  return {
    /** @throws ServiceError DATABASE_ALREADY_EXISTS */
    async rejectTaken(org: string, name: string): Promise<void> {
      if (await databases.forOrg(org).findOne({ name }, { projection: { _id: 1 } })) throw alreadyExists(name);
    },

    /** @throws ServiceError DATABASE_ALREADY_EXISTS */
    async create(
      org: string,
      name: string,
      metadataSchema: MetadataField[],
      tx?: ClientSession,
    ): Promise<DatabaseRecord> {
      const record = newDatabase(org, name, now(), mergeFields([], metadataSchema), engine);
      try {
        await databases.forOrg(org).insertOne(record, { session: tx });
      } catch (error) {
        if (isDuplicateKey(error)) throw alreadyExists(name);
        throw error;
      }
      return record;
    },

    /**
     * @returns a database that is not being deleted
     * @throws ServiceError DATABASE_NOT_FOUND, also when it is being deleted or is another organisation's
     */
    async requireForOrg(org: string, name: string): Promise<DatabaseRecord> {
      const record = await findByName({ org, name });
      if (record?.status === 'deleting') {
        throw new ServiceError('DATABASE_NOT_FOUND', `The database "${name}" is being deleted.`);
      }
      return record ?? notFound(name);
    },

    /** @returns a database in any state. @throws ServiceError DATABASE_NOT_FOUND */
    async requireAnyForOrg(org: string, name: string): Promise<DatabaseRecord> {
      return (await databases.forOrg(org).findOne({ name })) ?? notFound(name);
    },

    getById({ _id, org }: OwnedDatabase): Promise<DatabaseRecord | null> {
      return databases.forOrg(org).findOne({ _id });
    },

    /** @returns one page, newest first */
    listForOrg(org: string, page: PageQuery): Promise<DatabaseRecord[]> {
      return newestFirst(databases.forOrg(org), {}, page).toArray();
    },

    /**
     * Adds fields to the metadata schema.
     * @returns the changed database
     * @throws ServiceError DATABASE_NOT_FOUND, METADATA_FIELD_CONFLICT, or VALIDATION_ERROR for too many fields
     */
    async addMetadataFields(org: string, name: string, added: readonly MetadataField[]): Promise<DatabaseRecord> {
      for (;;) {
        const { _id, metadata_schema } = await this.requireForOrg(org, name);
        const fields = mergeFields(metadata_schema, added);
        if (fields.length > MAX_METADATA_FIELDS) {
          throw new ServiceError(
            'VALIDATION_ERROR',
            `A database can have at most ${MAX_METADATA_FIELDS} metadata fields.`,
          );
        }
        // When another request has changed the schema since it was read, the fields are checked again.
        const updated = await databases
          .forOrg(org)
          .findOneAndUpdate(
            { _id, metadata_schema, status: { $ne: 'deleting' } },
            { $set: { metadata_schema: fields, updated_at: now() } },
          );
        if (updated) return updated;
      }
    },

    /** provisioning | ready -> deleting, which is final. */
    async markDeleting({ _id, org }: OwnedDatabase): Promise<void> {
      await databases
        .forOrg(org)
        .updateOne(
          { _id, status: { $ne: 'deleting' } },
          { $set: { status: 'deleting', updated_at: now() }, $unset: { check_at: '' } },
        );
    },

    /** Whether items may be added: the database exists and is not being deleted. */
    async isOpen({ _id, org }: OwnedDatabase): Promise<boolean> {
      const open = { _id, status: { $ne: 'deleting' as const } };
      return (await databases.forOrg(org).findOne(open, { projection: { _id: 1 } })) !== null;
    },

    /** Removes the record of a database that is being deleted. */
    async remove({ _id, org }: OwnedDatabase): Promise<void> {
      await databases.forOrg(org).deleteOne({ _id, status: 'deleting' });
    },

    /** @returns the names of databases that can be queried, in order, at most 100; with `among`, only of these */
    async listReadyNames(org: string, among: readonly string[] | null = null): Promise<string[]> {
      const filter = { status: 'ready', ...(among ? { name: { $in: among } } : {}) } as const;
      const found = await databases.forOrg(org).find(filter).sort({ name: 1 }).limit(100).toArray();
      return found.map(({ name }) => name);
    },

    async markGraphReady({ _id, org }: OwnedDatabase): Promise<void> {
      await databases.forOrg(org).updateOne({ _id }, { $set: { graph_ready: true, updated_at: now() } });
    },

    /** provisioning -> ready */
    async markReady({ _id, org }: OwnedDatabase): Promise<void> {
      const ready = { $set: { status: 'ready', updated_at: now() } } as const;
      await databases.forOrg(org).updateOne({ _id, status: 'provisioning' }, ready);
    },

    /** Databases in provisioning or deletion. */
    stale: databases.stale((before) => ({
      status: { $in: UNFINISHED_DATABASE_STATUSES },
      updated_at: { $lt: before },
    })),
  };
}

function alreadyExists(name: string): ServiceError {
  return new ServiceError('DATABASE_ALREADY_EXISTS', `A database named "${name}" already exists.`);
}

function notFound(name: string): never {
  throw new ServiceError('DATABASE_NOT_FOUND', `There is no database named "${name}".`);
}

/** @throws ServiceError METADATA_FIELD_CONFLICT */
function mergeFields(existing: readonly MetadataField[], added: readonly MetadataField[]): MetadataField[] {
  const merged = addFields(existing, added);
  if ('fields' in merged) return merged.fields;
  throw new ServiceError(
    'METADATA_FIELD_CONFLICT',
    `The field "${merged.conflict}" exists with another type or a larger max_length.`,
  );
}
