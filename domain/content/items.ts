import { z } from 'zod';
import { sha256Hex } from '../ids.js';
import { nameSchema } from './databases.js';
import { itemIdSchema, metadataSchema } from './ingest.js';
import { ITEM_TYPES } from './search.js';
import { INDEXING_STATUSES } from './states.js';

const MAX_IDS = 1_000;

/** For the API document: a text or a list with something other than commas. */
const namesAnId = { pattern: '[^,]' };

/** Ids of items in a query, as a list or separated by commas. @param max how many a request may name */
export function idListSchema(max = MAX_IDS) {
  return z
    .union([z.string(), z.array(z.string())])
    .transform((value) =>
      [value]
        .flat()
        .flatMap((part) => part.split(','))
        .filter((id) => id !== ''),
    )
    .refine((ids) => ids.length > 0, 'must have at least one id')
    .refine((ids) => ids.length <= max, `must not exceed ${max} ids`)
    .meta({
      description: 'Repeated or separated by commas.',
      anyOf: [
        { type: 'string', ...namesAnId },
        { type: 'array', items: { type: 'string' }, contains: namesAnId, maxItems: max },
      ],
    });
}

/** The ids that a request names by `id`, `ids` or both, each once. */
export function requestedIds({ id, ids = [] }: { id?: string; ids?: readonly string[] }): string[] {
  return [...new Set([...(id === undefined ? [] : [id]), ...ids])];
}

/** Filters of a list of items. */
export const itemFilterSchema = z.object({
  type: z.enum(ITEM_TYPES).optional(),
  status: z
    .enum([...INDEXING_STATUSES, 'success'])
    // `success` is the deprecated name, accepted wherever a client sends a status.
    .transform((status) => (status === 'success' ? 'completed' : status))
    .optional(),
});

/** The body of a request that changes an item's metadata. */
export const changeItemSchema = z
  .object({
    database: nameSchema,
    collection: nameSchema.optional(),
    metadata: metadataSchema.optional(),
    additional_metadata: metadataSchema.optional(),
  })
  .refine((change) => change.metadata !== undefined || change.additional_metadata !== undefined, {
    message: 'metadata or additional_metadata is required',
  })
  .meta({ anyOf: [{ required: ['metadata'] }, { required: ['additional_metadata'] }] });

/** A list is taken as it is: ids may contain commas. */
const deletedIds = {
  anyOf: [
    { type: 'string', ...namesAnId },
    { type: 'array', items: { type: 'string' }, contains: { minLength: 1 }, maxItems: MAX_IDS },
  ],
};

/** The items to delete, from the query or the body. */
export const deleteItemsSchema = z.object({
  database: nameSchema,
  collection: nameSchema.optional(),
  id: itemIdSchema.optional(),
  ids: z
    .union([z.string().transform((list) => list.split(',')), z.array(z.string())])
    .transform((ids) => ids.filter((id) => id !== ''))
    .refine((ids) => ids.length <= MAX_IDS, `must not exceed ${MAX_IDS} ids`)
    .meta({ description: 'A list, or one string separated by commas.', ...deletedIds })
    .optional(),
});

/**
 * The same as a body, which may also be absent: the query can have the fields instead. The document requires them in the
 * body, because OpenAPI cannot say that either has them.
 */
export const deleteItemsBodySchema = deleteItemsSchema.partial().meta({
  required: ['database'],
  anyOf: [{ required: ['id'] }, { required: ['ids'] }],
});

/**
 * @param content all that affects how an item is indexed
 * @returns SHA-256 in hex, independent of the order of fields; equal for items that are indexed in the same way
 */
export function contentHash(content: object): string {
  return sha256Hex(
    JSON.stringify(content, (_name, value) =>
      typeof value === 'object' && value !== null && !Array.isArray(value)
        ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
        : value,
    ),
  );
}

/** What readers see of an item while its newest version is not complete: the version before. */
interface Versions {
  version: number;
  /** The version that queries and reads return; null before the first is complete. */
  served_version: number | null;
  /** The content of the served version while it is not the newest version. */
  served?: object | undefined;
}

/** @returns the item with the content of its served version; the item itself when that is the newest or there is none */
export function asServed<Item extends Versions>(item: Item): Item {
  return item.served ? { ...item, ...item.served } : item;
}
