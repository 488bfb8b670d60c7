import { z } from 'zod';
import { ocrLanguageSchema } from '../ocr-languages.js';
import { nameSchema } from './databases.js';
import { unstorableMetadata } from './metadata.js';
import { ITEM_TYPES } from './search.js';

/** Limit of an item's id, which is part of a workflow id, a search attribute and a summary; all have limits. */
const MAX_ID_BYTES = 200;

/** Client ids of items: any printable text. The document has their limit in characters, because schemas do not count bytes. */
export const itemIdSchema = z
  .string()
  .min(1)
  .refine((id) => Buffer.byteLength(id) <= MAX_ID_BYTES, `must not exceed ${MAX_ID_BYTES} bytes`)
  // Without \p{…}, which the tools that read `/openapi.json` do not know.
  .regex(/^[^\u0000-\u001f\u007f-\u009f]+$/, 'must not contain control characters')
  .refine((id) => id.isWellFormed(), 'must not contain control characters')
  .meta({ maxLength: MAX_ID_BYTES });

/** Characters of the text of an item. */
export const MAX_TEXT = 2 * 1024 * 1024;
/** Characters of one item as JSON text: its text, and half a mebibyte for all else. */
export const MAX_ITEM_CHARACTERS = MAX_TEXT + 512 * 1024;

/** For the document: names that MongoDB can store. Those within nested objects are not described. */
const STORABLE_NAMES = { propertyNames: { pattern: '^[^\\u0000]*$', not: { const: '_bsontype' } } };

/** Metadata that can be stored. The database's own schema is checked later. */
export const metadataSchema = z
  .record(z.string(), z.unknown())
  .superRefine((value, context) => {
    const message = unstorableMetadata(value);
    if (message) context.addIssue({ code: 'custom', message });
  })
  .meta(STORABLE_NAMES);
const metadata = metadataSchema.default({});
const text = z.string().max(MAX_TEXT);

/** The plain fields of the ingest form. */
export const ingestFieldsSchema = z.object({
  database: nameSchema,
  collection: nameSchema.default('default'),
  type: z.enum(ITEM_TYPES).default('knowledge').meta({
    description:
      'The type of the `documents`. Items of `app_knowledge` are knowledge, items of `memories` are memories.',
  }),
  upsert: z
    .enum(['true', 'false'])
    .default('false')
    .transform((value) => value === 'true')
    .meta({ description: 'Whether an item with an existing id replaces the existing item; otherwise 409.' }),
  language: ocrLanguageSchema.optional(),
});

const { database, collection, upsert } = ingestFieldsSchema.shape;

/** `document_metadata`: one object per file, in the order of the files. */
export const documentMetadataSchema = z.array(
  z.object({
    id: itemIdSchema.optional(),
    /** The language of this file, instead of the language of the request. */
    language: ocrLanguageSchema.optional(),
    metadata,
    additional_metadata: metadata,
  }),
);
export type DocumentMetadata = z.infer<typeof documentMetadataSchema>[number];

/** A text that `trim()` does not make empty, as a schema that every tool reads in the same way. */
const VISIBLE = {
  type: 'string',
  pattern: '[^\\t\\n\\u000b\\f\\r \\u00a0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000\\ufeff]',
} as const;

/**
 * @param fields names the fields that can have the text
 * @param sources schemas of these fields, of which at least one must hold
 */
const withText = <Item extends z.ZodType<TextSource>>(item: Item, fields: string, sources: Record<string, object>) =>
  item
    .refine((source) => wholeText(source) !== '', `must have ${fields}`)
    .refine((source) => wholeText(source).length <= MAX_TEXT, `must not exceed ${MAX_TEXT} characters of text`)
    .meta({
      anyOf: Object.entries(sources).map(([name, schema]) => ({ required: [name], properties: { [name]: schema } })),
    });

/** First and last fields of an item with a text. */
const named = { id: itemIdSchema.optional(), title: z.string().max(500).optional(), text: text.optional() };
const described = { metadata, additional_metadata: metadata };

/** `app_knowledge`: items with a text. */
export const appKnowledgeSchema = z.array(
  withText(
    z.object({
      ...named,
      content: text.optional(),
      url: z.string().max(2048).optional(),
      source: z.string().max(200).optional(),
      ...described,
    }),
    'text or content',
    { text: VISIBLE, content: VISIBLE },
  ),
);

/** `memories`: items with a text or a conversation. */
export const memoriesSchema = z.array(
  withText(
    z.object({
      ...named,
      user_assistant_pairs: z
        .array(z.object({ user: text, assistant: text }))
        .min(1)
        .optional(),
      ...described,
    }),
    'text or user_assistant_pairs',
    {
      text: VISIBLE,
      user_assistant_pairs: {
        type: 'array',
        contains: {
          anyOf: [
            { required: ['user'], properties: { user: VISIBLE } },
            { required: ['assistant'], properties: { assistant: VISIBLE } },
          ],
        },
      },
    },
  ),
);

const KNOWLEDGE_EXAMPLE = [{ id: 'opening-hours', title: 'Opening hours', text: 'The library opens at nine.' }];
const MEMORIES_EXAMPLE = [{ id: 'ada', text: 'Ada prefers the reading room.' }];

/** A JSON body: texts without files. */
export const ingestTextsSchema = z
  .object({
    database,
    collection,
    upsert: z.boolean().default(false).meta({ description: upsert.description }),
    app_knowledge: appKnowledgeSchema.optional().meta({ examples: [KNOWLEDGE_EXAMPLE] }),
    memories: memoriesSchema.optional().meta({ examples: [MEMORIES_EXAMPLE] }),
  })
  .meta({ id: 'IngestTextsRequest', ...withPart(['app_knowledge', 'memories']) });

/** For the document: one of these lists is required, and not empty. */
function withPart(lists: readonly string[]) {
  return { anyOf: lists.map((part) => ({ required: [part], properties: { [part]: { type: 'array', minItems: 1 } } })) };
}

/** A list that a form has as JSON text, in one field. */
function sentAsJson<Item extends z.ZodType>(list: z.ZodArray<Item>, description: string, example: object[]) {
  return list.optional().meta({ description: `As JSON text: ${description}`, example });
}

/** The whole form, for the documentation. */
export const ingestFormSchema = ingestFieldsSchema
  .extend({
    documents: z
      .array(z.file())
      .optional()
      .meta({ description: 'One or more files. The kind of a file is detected by its content.' }),
    document_metadata: sentAsJson(
      documentMetadataSchema,
      'an array with one object per file, in the order of the files. Optional fields: `id`, `language`, `metadata`, `additional_metadata`.',
      [{ id: 'handbook', metadata: { year: 2026 } }],
    ),
    app_knowledge: sentAsJson(
      appKnowledgeSchema,
      'an array of items, each with `text` or `content`. Optional fields: `id`, `title`, `url`, `source`, `metadata`, `additional_metadata`.',
      KNOWLEDGE_EXAMPLE,
    ),
    memories: sentAsJson(
      memoriesSchema,
      'an array of memories, each with `text` or `user_assistant_pairs` (`[{"user", "assistant"}]`). Optional fields: `id`, `title`, `metadata`, `additional_metadata`.',
      MEMORIES_EXAMPLE,
    ),
  })
  .meta({
    dependentRequired: { document_metadata: ['documents'] },
    ...withPart(['documents', 'app_knowledge', 'memories']),
  });

/** The fields of an app item or a memory that have its text. */
interface TextSource {
  text?: string | undefined;
  content?: string | undefined;
  user_assistant_pairs?: readonly { user: string; assistant: string }[] | undefined;
}

/** @returns the text to index: the texts of all fields, without duplicates; empty when all are blank */
export function wholeText({ text, content, user_assistant_pairs = [] }: TextSource): string {
  const conversation = user_assistant_pairs
    .filter((pair) => `${pair.user}${pair.assistant}`.trim() !== '')
    .map((pair) => `User: ${pair.user}\nAssistant: ${pair.assistant}`)
    .join('\n\n');
  const parts = [text, content, conversation].filter((part) => part !== undefined && part.trim() !== '');
  return [...new Set(parts)].join('\n\n');
}
