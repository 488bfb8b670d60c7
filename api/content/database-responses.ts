/** Responses of the routes for databases. */
import { z } from 'zod';
import { metadataFieldSchema } from '../../domain/content/databases.js';
import { ITEM_TYPES } from '../../domain/content/search.js';
import { DATABASE_STATUSES, INDEXING_STATUSES } from '../../domain/content/states.js';
import type { DatabaseRecord } from '../../storage/content/databases.js';
import { listSchema } from '../pagination.js';
import { pickFields } from '../pick-fields.js';

const time = z.iso.datetime();

const metadataFields = z.array(metadataFieldSchema);

export const databaseCreatedSchema = z.object({ database: z.string(), status: z.enum(DATABASE_STATUSES) });

const databaseSchema = z
  .object({
    database: z.string(),
    status: z.enum(DATABASE_STATUSES),
    database_metadata_schema: metadataFields,
    created_at: time,
    updated_at: time,
  })
  .meta({ id: 'Database' });

export const databaseListSchema = listSchema('databases', databaseSchema, 'Newest first.');

export const databaseDeletingSchema = z.object({ database: z.string(), status: z.literal('deleting') });

export const collectionsSchema = z.object({
  database: z.string(),
  collections: z
    .array(z.object({ collection: z.string(), items: z.int() }))
    .meta({ description: 'Sorted by name. A collection exists while it has items.' }),
  count: z.int(),
});

export const databaseStatsSchema = z.object({
  database: z.string(),
  items: z.int(),
  by_status: z.partialRecord(z.enum(INDEXING_STATUSES), z.int()),
  by_type: z.partialRecord(z.enum(ITEM_TYPES), z.int()),
  chunks: z.int(),
  bytes: z.int().meta({ description: 'Size of the ingested files and texts.' }),
});

export const metadataSchemaSchema = z.object({ database: z.string(), database_metadata_schema: metadataFields });

export const databaseStatusSchema = z.object({
  database: z.string(),
  status: z.enum(DATABASE_STATUSES),
  infra: z.object({
    scheduler_status: z.boolean(),
    graph_status: z.boolean(),
    vectorstore_status: z.object({ knowledge: z.boolean(), memories: z.boolean() }),
    ready_for_ingestion: z
      .boolean()
      .meta({ description: 'True when the database is ready and all parts are available.' }),
  }),
});

/** A database in a list. */
export function describeDatabase(record: DatabaseRecord) {
  const { name: database, metadata_schema: database_metadata_schema } = record;
  return pickFields(databaseSchema, { ...record, database, database_metadata_schema });
}
