import { z } from 'zod';
import { nameSchema } from './databases.js';
import { itemIdSchema, metadataSchema } from './ingest.js';
import { ITEM_TYPES } from './search.js';
import { INDEXING_STATUSES } from './states.js';

const MAX_IDS = 1_000;

/** Ids of items, as a list or separated by commas. */
export const idListSchema = z
  .union([z.string(), z.array(z.string())])
  .transform((value) =>
    [value]
      .flat()
      .flatMap((part) => part.split(','))
      .filter((id) => id !== ''),
  )
  .meta({ description: 'Repeated or separated by commas.' });

export const itemFilterSchema = z.object({
  type: z.enum(ITEM_TYPES).optional(),
  status: z
    .enum([...INDEXING_STATUSES, 'success'])
    // The old word for it is read wherever a client may send a status.
    .transform((status) => (status === 'success' ? 'completed' : status))
    .optional(),
});

export const changeItemSchema = z
  .object({
    database: nameSchema,
    collection: nameSchema.optional(),
    metadata: metadataSchema.optional(),
    additional_metadata: metadataSchema.optional(),
  })
  .refine((change) => change.metadata !== undefined || change.additional_metadata !== undefined, {
    message: 'metadata or additional_metadata is required',
  });

export const deleteItemsSchema = z.object({
  database: nameSchema,
  collection: nameSchema.optional(),
  id: itemIdSchema.optional(),
  ids: z
    .union([z.string().transform((list) => list.split(',')), z.array(z.string())])
    .transform((ids) => ids.filter((id) => id !== ''))
    .refine((ids) => ids.length <= MAX_IDS, `at most ${MAX_IDS} ids`)
    .optional()
    .meta({ description: 'A list, or one text separated by commas.' }),
});
