/** What the content service answers, as its routes declare it and `/openapi.json` shows it. */
import { z } from 'zod';
import { ITEM_ERRORS, type ItemErrorCode } from '../../domain/extraction.js';
import { ENTITY_TYPES } from '../../domain/graph.js';
import { metadataFieldSchema } from '../../domain/metadata.js';
import { ITEM_TYPES } from '../../domain/search.js';
import { DATABASE_STATUSES, DELIVERY_STATES, INDEXING_STATUSES } from '../../domain/states.js';
import { EVENT_TYPES, indexingEventSchema } from '../../domain/webhooks.js';

const time = z.iso.datetime();

export const databaseCreatedSchema = z.object({ database: z.string(), status: z.enum(DATABASE_STATUSES) });

const metadataFields = z.array(metadataFieldSchema);
const nextCursor = z
  .string()
  .nullable()
  .meta({ description: 'Pass it as `cursor` for the next page; null on the last.' });

export const databaseListSchema = z.object({
  databases: z
    .array(
      z.object({
        database: z.string(),
        status: z.enum(DATABASE_STATUSES),
        database_metadata_schema: metadataFields,
        created_at: time,
        updated_at: time,
      }),
    )
    .meta({ description: 'Newest first.' }),
  count: z.int(),
  next_cursor: nextCursor,
});

export const databaseDeletingSchema = z.object({ database: z.string(), status: z.literal('deleting') });

export const collectionsSchema = z.object({
  database: z.string(),
  collections: z
    .array(z.object({ collection: z.string(), items: z.int() }))
    .meta({ description: 'By name. A collection is there as long as it has an item.' }),
  count: z.int(),
});

export const databaseStatsSchema = z.object({
  database: z.string(),
  items: z.int(),
  by_status: z.partialRecord(z.enum(INDEXING_STATUSES), z.int()),
  by_type: z.partialRecord(z.enum(ITEM_TYPES), z.int()),
  chunks: z.int(),
  bytes: z.int().meta({ description: 'Of the files and texts that were ingested.' }),
});

export const metadataSchemaSchema = z.object({ database: z.string(), database_metadata_schema: metadataFields });

export const databaseStatusSchema = z.object({
  database: z.string(),
  status: z.enum(DATABASE_STATUSES),
  infra: z.object({
    scheduler_status: z.boolean(),
    graph_status: z.boolean(),
    vectorstore_status: z.object({ knowledge: z.boolean(), memories: z.boolean() }),
    ready_for_ingestion: z.boolean().meta({ description: 'All of them together.' }),
  }),
});

export const ingestResultSchema = z.object({
  results: z
    .array(
      z.object({
        id: z.string(),
        filename: z.string().optional(),
        status: z.enum(INDEXING_STATUSES).meta({
          description:
            '`queued`; `errored` for a file that is refused; another one where the same content is there already.',
        }),
        unchanged: z.literal(true).optional().meta({
          description: 'With `upsert`: the item has this content already, so nothing is indexed again.',
        }),
        error_code: z.enum(Object.keys(ITEM_ERRORS) as [ItemErrorCode]).optional(),
        error_message: z.string().optional(),
      }),
    )
    .meta({ description: 'In the order sent: files, app knowledge, memories.' }),
  success_count: z.int(),
  failed_count: z.int(),
});

export const statusesSchema = z.object({
  statuses: z.array(
    z.object({
      id: z.string(),
      indexing_status: z.enum(INDEXING_STATUSES).nullable(),
      error_code: z
        .string()
        .nullable()
        .meta({ description: 'An item code such as `E2001`, or `FILE_NOT_FOUND` for an unknown id.' }),
      error_message: z.string().nullable(),
      created_at: time.nullable(),
      updated_at: time.nullable(),
    }),
  ),
});

const metadata = z.record(z.string(), z.unknown());

export const itemSchema = z.object({
  id: z.string(),
  database: z.string(),
  collection: z.string(),
  type: z.enum(ITEM_TYPES),
  title: z.string().nullable(),
  indexing_status: z.enum(INDEXING_STATUSES),
  error_code: z.string().nullable(),
  error_message: z.string().nullable(),
  metadata,
  additional_metadata: metadata,
  source: z
    .discriminatedUnion('kind', [
      z.object({ kind: z.literal('file'), filename: z.string(), mime_type: z.string(), size: z.int() }),
      z.object({ kind: z.literal('text'), size: z.int().nullable() }),
    ])
    .meta({ description: 'What was ingested; `size` in bytes.' }),
  created_at: time,
  updated_at: time,
});

export const itemListSchema = z.object({
  items: z.array(itemSchema).meta({ description: 'By their first ingest, newest first.' }),
  count: z.int(),
  next_cursor: nextCursor,
});

export const itemDetailSchema = itemSchema.extend({
  chunks: z
    .array(
      z.object({
        chunk_id: z.string(),
        text: z.string(),
        headings: z.array(z.string()),
        page: z.int().nullable(),
        page_label: z.string().optional(),
        slide: z.int().optional(),
        slide_title: z.string().optional(),
        sheet: z.string().nullable(),
        rows: z.array(z.int()).length(2).optional().meta({ description: 'First and last row of the sheet.' }),
      }),
    )
    .meta({ description: 'In their order; empty until the text has been read.' }),
  next_cursor: nextCursor,
});

export const itemsDeletedSchema = z.object({
  deleted: z.array(z.string()),
  not_found: z.array(z.string()),
  deleted_count: z.int(),
});

const relationSchema = z.object({
  source: z.string(),
  target: z.string(),
  relation: z.string(),
  source_id: z.string(),
  evidence: z.array(z.object({ chunk_id: z.string(), sentence: z.string() })),
});

export const relationListSchema = z.object({
  relations: z
    .array(relationSchema)
    .meta({ description: 'A page may have fewer than `limit` and still not be the last.' }),
  count: z.int(),
  next_cursor: nextCursor,
});

export const queryResultSchema = z.object({
  chunks: z
    .array(
      z.object({
        chunk_id: z.string(),
        source_id: z.string(),
        title: z.string().nullable(),
        text: z.string(),
        score: z.number().meta({
          description:
            'How well it fits: BM25, cosine similarity or fused ranks, comparable within one answer only. Weights, recency ' +
            'and ratings move the order and not the score.',
        }),
        metadata: z.record(z.string(), z.unknown()),
        collection: z.string(),
        type: z.enum(ITEM_TYPES),
      }),
    )
    .meta({ description: 'Best first.' }),
  graph: z.object({
    entities: z.array(
      z.object({
        name: z.string(),
        type: z.string().meta({ examples: [...ENTITY_TYPES] }),
        source_ids: z.array(z.string()),
        chunk_ids: z.array(z.string()),
      }),
    ),
    relations: z.array(relationSchema),
  }),
});

export const feedbackCreatedSchema = z.object({ id: z.string() });

export const feedbackListSchema = z.object({
  feedback: z
    .array(
      z.object({
        id: z.string(),
        database: z.string(),
        query: z.string().nullable(),
        source_id: z.string().nullable(),
        chunk_id: z.string().nullable(),
        rating: z.number(),
        comment: z.string().nullable(),
        created_at: time,
      }),
    )
    .meta({ description: 'Newest first.' }),
  count: z.int(),
  next_cursor: z.string().nullable().meta({ description: 'Pass it as `cursor` for the next page; null on the last.' }),
});

export const registrationSchema = z.object({
  registered: z.boolean(),
  url: z.string().nullable(),
  event_types: z.array(z.enum(EVENT_TYPES)),
  signing_secret_configured: z.boolean(),
  disabled_at: time.nullable().meta({ description: 'Since when nothing is sent any more; registering again ends it.' }),
  disabled_reason: z.string().nullable(),
});

const shownOnce = z.string().optional().meta({ description: 'Only when it was generated; it cannot be read again.' });
const message = z.string();

export const registeredSchema = registrationSchema.extend({ signing_secret: shownOnce, message });
export const signingSecretSchema = z.object({ generated: z.boolean(), signing_secret: shownOnce, message });
export const deletedSchema = z.object({ deleted: z.boolean(), message });

export const testDeliverySchema = z.object({
  delivered: z.boolean(),
  status_code: z.int().nullable().meta({ description: "The receiver's status; null when it gave none." }),
  message,
});

const deliverySchema = z.object({
  delivery_id: z.string(),
  doc_id: z.string().meta({ description: 'The id of the item, which the payload calls `id`.' }),
  status: z.enum(DELIVERY_STATES),
  indexing_status: z.enum(INDEXING_STATUSES).nullable(),
  event_type: z.string(),
  attempts: z.int(),
  error_code: z.string().nullable(),
  error_message: z.string().nullable(),
  created_at: time,
  updated_at: time,
});

export const deliveryListSchema = z.object({
  deliveries: z.array(deliverySchema).meta({ description: 'Newest first.' }),
  count: z.int(),
  next_cursor: nextCursor,
});

export const deliveryDetailSchema = deliverySchema.extend({
  url: z.string().nullable().meta({ description: 'Where the last attempt went.' }),
  payload: indexingEventSchema.nullable(),
  attempt_log: z.array(
    z.object({
      at: time,
      status_code: z.int().nullable(),
      duration_ms: z.number(),
      error: z.string().nullable(),
      answer: z.string().nullable().meta({ description: "First KiB of the receiver's answer." }),
    }),
  ),
  next_attempt_at: time.nullable(),
});

export const deliveryQueuedSchema = z.object({ delivery_id: z.string(), queued: z.literal(true), message });
