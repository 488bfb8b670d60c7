import { z } from 'zod';
import { nameSchema } from './databases.js';
import { ITEM_TYPES } from './search.js';

/** Client ids of items: anything printable. */
export const itemIdSchema = z
  .string()
  .min(1)
  .max(256)
  .regex(/^[^\p{Cc}\p{Cs}]+$/u, 'must not contain control characters');

const metadata = z.record(z.string(), z.unknown()).default({});
const text = z.string().max(2 * 1024 * 1024, 'may have 2 MiB at the most');

/** The plain fields of the ingest form. */
export const ingestFieldsSchema = z.object({
  database: nameSchema,
  collection: nameSchema.default('default'),
  type: z.enum(ITEM_TYPES).default('knowledge'),
  upsert: z
    .enum(['true', 'false'])
    .default('false')
    .transform((value) => value === 'true'),
});

/** `document_metadata`: one object a file, in the files' order. */
export const documentMetadataSchema = z.array(
  z.object({ id: itemIdSchema.optional(), metadata, additional_metadata: metadata }),
);
export type DocumentMetadata = z.infer<typeof documentMetadataSchema>[number];

export const appKnowledgeSchema = z.array(
  z
    .object({
      id: itemIdSchema.optional(),
      title: z.string().max(500).optional(),
      text: text.optional(),
      content: text.optional(),
      url: z.string().max(2048).optional(),
      source: z.string().max(200).optional(),
      metadata,
      additional_metadata: metadata,
    })
    .refine((item) => [item.text, item.content].some((text) => text?.trim()), 'needs text or content'),
);

const userAssistantPairs = z.array(z.object({ user: text, assistant: text })).min(1);

export const memoriesSchema = z.array(
  z
    .object({
      id: itemIdSchema.optional(),
      title: z.string().max(500).optional(),
      text: text.optional(),
      user_assistant_pairs: userAssistantPairs.optional(),
      metadata,
      additional_metadata: metadata,
    })
    .refine((item) => (item.text ?? '').trim() !== '' || item.user_assistant_pairs !== undefined, {
      message: 'needs text or user_assistant_pairs',
    }),
);

/** A conversation as the text that is indexed. */
export function conversationText(pairs: z.infer<typeof userAssistantPairs>): string {
  return pairs.map((pair) => `User: ${pair.user}\nAssistant: ${pair.assistant}`).join('\n\n');
}
