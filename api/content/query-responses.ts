/** Responses of queries and of the relations of items. */
import { z } from 'zod';
import { ENTITY_TYPES } from '../../domain/content/graph.js';
import { ITEM_TYPES } from '../../domain/content/search.js';
import { pageFields } from '../pagination.js';

const relationSchema = z
  .object({
    source: z.string(),
    target: z.string(),
    relation: z.string(),
    collection: z.string(),
    source_id: z.string(),
    evidence: z.array(z.object({ chunk_id: z.string(), sentence: z.string() })),
  })
  .meta({ id: 'Relation' });

export const relationListSchema = z.object({
  relations: z
    .array(relationSchema)
    .meta({ description: 'A page may have fewer than `limit` relations without being the last page.' }),
  ...pageFields,
});

export const queryResultSchema = z.object({
  chunks: z
    .array(
      z
        .object({
          chunk_id: z.string(),
          source_id: z.string(),
          title: z.string().nullable(),
          text: z.string(),
          score: z
            .number()
            .min(0)
            .max(1)
            .meta({
              description:
                'How well the chunk matches, relative to the other hits: comparable within one response only. Weights, recency ' +
                'and ratings are included.',
            }),
          metadata: z.record(z.string(), z.unknown()),
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
});
