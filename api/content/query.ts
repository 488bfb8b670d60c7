import Router from '@koa/router';
import { z } from 'zod';
import { nameSchema } from '../../domain/databases.js';
import { ServiceError } from '../../domain/errors.js';
import { itemIdSchema } from '../../domain/ingest.js';
import { ITEM_TYPES, QUERY_MODES, TEXT_OPERATORS } from '../../domain/search.js';
import type { Databases } from '../../storage/databases.js';
import type { Retrieval } from '../../storage/retrieval.js';
import type { RequestState } from '../context.js';
import { queryResultSchema } from './answers.js';
import { contentOperations } from './document.js';

const operation = contentOperations('Query');

const querySchema = z.object({
  query: z.string().trim().min(1).max(10_000),
  database: nameSchema,
  collection: nameSchema.optional(),
  collections: z.array(nameSchema).min(1).max(100).optional(),
  type: z.enum([...ITEM_TYPES, 'all']).default('all'),
  query_by: z.enum(QUERY_MODES).default('hybrid'),
  operator: z.enum(TEXT_OPERATORS).default('or'),
  max_results: z.int().min(1).max(50).default(10),
  ids: z.array(itemIdSchema).min(1).max(1_000).optional(),
  graph_context: z.boolean().default(true),
  // Refused as long as it is not there: an answer that silently ignored a filter would be worse than none.
  metadata_filters: z.never('filters by metadata are not available yet').optional(),
});

/** Answers from what was ingested. */
export function queryRoutes(deps: { databases: Databases; retrieval: Retrieval }): Router<RequestState> {
  const router = new Router<RequestState>();

  router.post(
    '/query',
    operation(
      {
        summary: 'Ask',
        description: 'Full text and vectors, fused, and the graph around the hits.',
        body: querySchema,
        status: 200,
        answers: queryResultSchema,
        errors: ['DATABASE_NOT_FOUND', 'TENANT_INFRA_NOT_READY'],
      },
      async (ctx, { body: question, answer }) => {
        const database = await deps.databases.get(ctx.state.principal.org, question.database);
        if (database.status !== 'ready') {
          throw new ServiceError('TENANT_INFRA_NOT_READY', `The database "${database.name}" is not ready yet.`);
        }
        const { chunks, graph } = await deps.retrieval.ask(database, {
          query: question.query,
          mode: question.query_by,
          operator: question.operator,
          collections: question.collections ?? (question.collection === undefined ? undefined : [question.collection]),
          type: question.type === 'all' ? undefined : question.type,
          ids: question.ids,
          max_results: question.max_results,
          graph_context: question.graph_context,
        });
        answer({ chunks, graph });
      },
    ),
  );

  return router;
}
