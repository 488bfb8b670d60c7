/** Responses of queries and of the relations of items. */
import { z } from 'zod';
import { ENTITY_TYPES } from '../../domain/content/graph.js';
import { ITEM_TYPES } from '../../domain/content/search.js';
import { listSchema } from '../pagination.js';
import { textRangesSchema } from '../text-ranges.js';

export const relationSchema = z
  .object({
    source: z.string(),
    target: z.string(),
    relation: z.string(),
    collection: z.string(),
    source_id: z.string(),
    evidence: z.array(z.object({ chunk_id: z.string(), sentence: z.string() })),
  })
  .meta({ id: 'Relation' });

export const relationListSchema = listSchema(
  'relations',
  relationSchema,
  'A page may have fewer than `limit` relations without being the last page.',
);

export const entitySchema = z
  .object({
    name: z.string(),
    type: z.string().meta({ examples: [...ENTITY_TYPES] }),
    collection: z.string(),
    source_id: z.string(),
    mentions: z.array(z.object({ chunk_id: z.string(), sentence: z.string() })),
  })
  .meta({ id: 'ItemEntity' });

export const entityListSchema = listSchema('entities', entitySchema);

const locationSchema = z
  .object({
    page: z.int().optional(),
    page_label: z.string().optional(),
    slide: z.int().optional(),
    slide_title: z.string().optional(),
    sheet: z.string().optional(),
    attachment: z.string().optional().meta({ description: 'File name of the attachment of an e-mail.' }),
    rows: z.array(z.int()).length(2).optional().meta({ description: 'First and last row in the sheet, from 1.' }),
    headings: z.array(z.string()).optional(),
  })
  .meta({ description: 'Where the chunk is in its document; only the fields that the document has.' });

const explainSchema = z
  .object({
    text: z
      .number()
      .nullable()
      .meta({ description: 'Score by text, from 0 to 1; null when there was no search by text, or it found nothing.' }),
    vector: z.number().nullable().meta({
      description: 'Score by vectors, likewise. A chunk that this search lacks is taken to be just below its last.',
    }),
    relevance: z.number().meta({ description: 'The two together: the score before weights, recency and ratings.' }),
    weight: z.number().meta({ description: 'Weight of the collection, divided by the greatest weight.' }),
    recency: z.number().nullable().meta({ description: 'Place by age, from 0 to 1; null without `recency_bias`.' }),
    rating: z.number().meta({ description: 'Places up by ratings; negative for places down.' }),
  })
  .meta({ description: 'With `explain`: the parts of the score.' });

export const queryResultSchema = z.object({
  chunks: z
    .array(
      z
        .object({
          chunk_id: z.string(),
          chunk_ids: z.array(z.string()).optional().meta({
            description:
              'With `expand`: the chunks that the text consists of, in their order. `chunk_id` is the best of them.',
          }),
          source_id: z.string(),
          title: z.string().nullable(),
          text: z.string(),
          truncated: z
            .boolean()
            .optional()
            .meta({ description: 'True where `max_tokens` cut off the end of the text.' }),
          hits: textRangesSchema(
            'With `expand`: the parts of the text that were found; the others are around them',
          ).optional(),
          highlights: textRangesSchema('The words of the text that match the words of the query'),
          code: textRangesSchema('The parts of the text that are code').optional(),
          score: z
            .number()
            .min(0)
            .max(1)
            .meta({
              description:
                'How well the chunk matches, relative to the other hits: comparable within one response only. Weights, recency ' +
                'and ratings are included.',
            }),
          metadata: z.record(z.string(), z.unknown()).meta({
            description: 'The `additional_metadata` of the item, and over it the `metadata`, as they are stored.',
          }),
          location: locationSchema,
          explain: explainSchema.optional(),
          collection: z.string(),
          type: z.enum(ITEM_TYPES),
        })
        .meta({ id: 'Hit' }),
    )
    .meta({ description: 'Best match first.' }),
  graph: z.object({
    entities: z.array(
      z
        .object({
          name: z.string(),
          type: z.string().meta({ examples: [...ENTITY_TYPES] }),
          source_ids: z.array(z.string()),
          chunk_ids: z.array(z.string()),
        })
        .meta({ id: 'Entity' }),
    ),
    relations: z.array(relationSchema),
  }),
  warning: z.string().optional().meta({
    description:
      'Why `hybrid` searched by text only: the operator has changed the embedding model, and the database is not rebuilt yet.',
  }),
});
