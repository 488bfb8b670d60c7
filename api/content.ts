import Router from '@koa/router';
import { z } from 'zod';
import { nameSchema } from '../domain/databases.js';
import { ServiceError } from '../domain/errors.js';
import { itemIdSchema } from '../domain/ingest.js';
import { ITEM_TYPES, QUERY_MODES, TEXT_OPERATORS } from '../domain/search.js';
import type { Databases } from '../storage/databases.js';
import type { Items } from '../storage/items.js';
import type { ItemRecord } from '../storage/records.js';
import type { Retrieval } from '../storage/retrieval.js';
import type { RequestState } from './context.js';
import { answer } from './envelope.js';
import { read } from './validation.js';

const MAX_STATUS_IDS = 1_000;

const idList = z.union([z.string(), z.array(z.string())]).transform((value) =>
  [value]
    .flat()
    .flatMap((part) => part.split(','))
    .filter((id) => id !== ''),
);

const statusQuerySchema = z
  .object({
    database: nameSchema,
    collection: nameSchema.optional(),
    id: itemIdSchema.optional(),
    ids: idList.optional(),
  })
  .transform(({ id, ids, ...rest }) => ({
    ...rest,
    ids: [...new Set([...(id === undefined ? [] : [id]), ...(ids ?? [])])],
  }))
  .refine(({ ids }) => ids.length <= MAX_STATUS_IDS, { message: `at most ${MAX_STATUS_IDS} ids`, path: ['ids'] });

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

/** Reading what was ingested: its status, and answers from it. */
export function contentRoutes(deps: {
  databases: Databases;
  items: Items;
  retrieval: Retrieval;
}): Router<RequestState> {
  const router = new Router<RequestState>();

  router.get('/context/status', async (ctx) => {
    const { database: name, collection, ids } = read(statusQuerySchema, ctx.query);
    if (ids.length === 0) throw new ServiceError('INVALID_PARAMETERS', 'id or ids: is required');
    const database = await deps.databases.get(ctx.state.principal.org, name);
    const found = new Map((await deps.items.statuses(database._id, ids, collection)).map((item) => [item.id, item]));
    if (ids.length === 1 && found.size === 0) {
      throw new ServiceError('FILE_NOT_FOUND', `There is no item "${ids[0]}"; a file refused at upload has no status.`);
    }
    answer(ctx, 200, { statuses: ids.map((id) => status(id, found.get(id))) });
  });

  router.post('/query', async (ctx) => {
    const question = read(querySchema, ctx.request.body ?? {});
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
    answer(ctx, 200, { chunks, graph });
  });

  return router;
}

function status(id: string, item: ItemRecord | undefined) {
  if (!item) {
    return {
      id,
      indexing_status: null,
      error_code: 'FILE_NOT_FOUND',
      error_message: 'There is no such item.',
      created_at: null,
      updated_at: null,
    };
  }
  return {
    id,
    indexing_status: item.indexing_status,
    error_code: item.error_code,
    error_message: item.error_message,
    created_at: item.created_at.toISOString(),
    updated_at: item.updated_at.toISOString(),
  };
}
