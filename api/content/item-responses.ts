/** Responses of the routes for items. */
import { z } from 'zod';
import { asServed } from '../../domain/content/items.js';
import { ITEM_TYPES } from '../../domain/content/search.js';
import { INDEXING_STATUSES, UNFINISHED_INDEXING_STATUSES } from '../../domain/content/states.js';
import { ITEM_ERRORS, type ItemErrorCode } from '../../domain/extraction.js';
import type { ChunkRecord } from '../../storage/content/chunks.js';
import type { ItemRecord } from '../../storage/content/items.js';
import { workflowIds } from '../../temporal/workflow-ids.js';
import { listSchema, nextCursorSchema } from '../pagination.js';
import { pickFields } from '../pick-fields.js';
import { textRangesSchema } from '../text-ranges.js';

const time = z.iso.datetime();

export const ingestResultSchema = z.object({
  results: z
    .array(
      z
        .object({
          id: z.string(),
          filename: z.string().optional(),
          status: z.enum(INDEXING_STATUSES).meta({
            description:
              '`queued`; `errored` for a rejected file; the current status of an item that already has the same content.',
          }),
          unchanged: z.literal(true).optional().meta({
            description: 'With `upsert`: the item already has this content and is not indexed again.',
          }),
          error_code: z.enum(Object.keys(ITEM_ERRORS) as [ItemErrorCode]).optional(),
          error_message: z.string().optional(),
        })
        .meta({ id: 'IngestResult' }),
    )
    .meta({ description: 'In the order sent: files, then app knowledge, then memories.' }),
  success_count: z.int(),
  failed_count: z.int(),
});

const workflow = z
  .string()
  .meta({ description: 'For operators: the id of the workflow in Temporal that indexes the newest version.' });

const servedVersion = z.int().nullable().meta({
  description: 'The version that queries and reads return: the last that completed. Null before the first.',
});

export const itemStatusSchema = z
  .object({
    id: z.string(),
    collection: z.string().nullable(),
    indexing_status: z
      .enum(INDEXING_STATUSES)
      .nullable()
      .meta({ description: 'The status of the newest version; null for an unknown id.' }),
    failed_step: z
      .enum(UNFINISHED_INDEXING_STATUSES)
      .nullable()
      .meta({ description: 'With `errored`: the status in which the version failed, where it is known.' }),
    version: z.int().nullable().meta({ description: 'The newest version. Each replacement counts one.' }),
    served_version: servedVersion,
    error_code: z
      .string()
      .nullable()
      .meta({ description: 'An item error code such as `E2001`, or `FILE_NOT_FOUND` for an unknown id.' }),
    error_message: z.string().nullable(),
    workflow: workflow.nullable(),
    created_at: time.nullable(),
    updated_at: time.nullable(),
  })
  .meta({ id: 'ItemStatus' });

const metadata = z.record(z.string(), z.unknown());

export const itemSchema = z
  .object({
    id: z.string(),
    database: z.string(),
    collection: z.string(),
    type: z.enum(ITEM_TYPES),
    title: z.string().nullable(),
    indexing_status: z.enum(INDEXING_STATUSES).meta({ description: 'The status of the newest version.' }),
    version: z.int(),
    served_version: servedVersion,
    error_code: z.string().nullable(),
    error_message: z.string().nullable(),
    workflow,
    metadata,
    additional_metadata: metadata,
    source: z
      .discriminatedUnion('kind', [
        z.object({ kind: z.literal('file'), filename: z.string(), mime_type: z.string(), size: z.int() }),
        z.object({ kind: z.literal('text'), size: z.int().nullable() }),
      ])
      .meta({ description: 'The ingested file or text; `size` is in bytes.' }),
    created_at: time,
    updated_at: time,
  })
  .meta({ id: 'Item' });

export const itemListSchema = listSchema(
  'items',
  itemSchema,
  'Sorted by the time of their first ingest, newest first.',
);

const itemChunkSchema = z
  .object({
    chunk_id: z.string(),
    text: z.string(),
    code: textRangesSchema('The parts of the text that are code').optional(),
    overlap: z
      .int()
      .optional()
      .meta({
        description:
          'UTF-16 code units at the start of the text that repeat the end of the chunk before. Without them the chunks are ' +
          'the text of the item.',
      }),
    headings: z.array(z.string()),
    page: z.int().nullable(),
    page_label: z.string().optional(),
    slide: z.int().optional(),
    slide_title: z.string().optional(),
    sheet: z.string().nullable(),
    attachment: z.string().optional(),
    rows: z.array(z.int()).length(2).optional().meta({ description: 'First and last row in the sheet.' }),
  })
  .meta({ id: 'ItemChunk' });

export const itemDetailSchema = itemSchema
  .extend({
    chunks: z
      .array(itemChunkSchema)
      .meta({ description: 'In the order of the text; empty until the text has been extracted.' }),
    next_cursor: nextCursorSchema,
  })
  .meta({ id: 'ItemDetail' });

export const itemsDeletedSchema = z.object({
  deleted: z.array(z.string()),
  not_found: z.array(z.string()),
  deleted_count: z.int(),
});

/** An item in responses: the status of its newest version, and the content of its served version. */
export function describeItem(item: ItemRecord) {
  const { type, title, metadata, additional_metadata, source, bytes } = asServed(item);
  return pickFields(itemSchema, {
    ...item,
    type,
    title,
    workflow: workflowIds.item(item),
    metadata,
    additional_metadata,
    source:
      source.kind === 'file'
        ? { kind: 'file', filename: source.filename, mime_type: source.mime_type, size: source.size }
        : { kind: 'text', size: bytes ?? null },
  });
}

/** A chunk in an item's response; without the fields that its kind of document does not have. */
export function describeChunk(chunk: ChunkRecord) {
  return pickFields(itemChunkSchema, { ...chunk, chunk_id: chunk._id });
}
