import { z } from 'zod';

const embeddingsSchema = z.union([
  z.object({
    available: z.literal(true),
    model: z.string(),
    dimensions: z.int(),
    other_models: z
      .array(
        z.object({
          model: z.string(),
          dimensions: z.int(),
          databases: z.int().meta({ description: 'Databases with vectors of this model.' }),
          available: z.boolean().meta({
            description: 'Whether the process has the model. Without it, these databases are searched by text only.',
          }),
          advice: z.string(),
        }),
      )
      .optional()
      .meta({ description: 'Databases with vectors of another model; absent when there are none.' }),
  }),
  z.object({ available: z.literal(false), reason: z.string(), search: z.literal('full text only') }),
]);

/** What a process can reach, and which databases an operator should rebuild. */
export const readinessSchema = z.object({
  temporal: z.boolean(),
  mongodb: z.boolean(),
  opensearch: z.boolean().optional().meta({
    description:
      'Whether OpenSearch responds; absent when it is not configured. Without it, queries fail and the rest works.',
  }),
  embeddings: embeddingsSchema,
  queues_without_worker: z
    .array(z.string())
    .optional()
    .meta({ description: 'Task queues that no running worker serves: their work waits. Absent when there are none.' }),
  reconciler: z
    .object({ completed_at: z.iso.datetime().nullable(), late: z.boolean() })
    .optional()
    .meta({ description: 'When the search for lost work was completed last. Late: a person has to look.' }),
  outdated_texts: z
    .object({
      databases: z.int().meta({ description: 'Databases whose text was indexed by another version.' }),
      advice: z.string(),
    })
    .optional()
    .meta({ description: 'Databases that are searched by vectors only; absent when there are none.' }),
});

export type Readiness = z.input<typeof readinessSchema>;
