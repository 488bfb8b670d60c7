import Router from '@koa/router';
import { nameSchema } from '../../domain/content/databases.js';
import { itemIdSchema } from '../../domain/content/ingest.js';
import { idListSchema } from '../../domain/content/items.js';
import { ServiceError } from '../../domain/errors.js';
import type { Databases } from '../../storage/content/databases.js';
import type { GraphStore } from '../../storage/content/graph.js';
import type { Items } from '../../storage/content/items.js';
import { contentOperations } from '../content-operations.js';
import { openCursor, pageOf, pageQuerySchema } from '../pagination.js';
import type { RequestState } from '../request-context.js';
import { relationListSchema } from './query-responses.js';

const operation = contentOperations('Context');

/** Items that one request may ask about: each is a part of the query. */
const MAX_IDS = 100;
const CURSOR = /^itm_[^/]+\/\d+\/\d+$/;

const relationsQuerySchema = pageQuerySchema.extend({
  database: nameSchema,
  collection: nameSchema.optional(),
  id: itemIdSchema.optional(),
  ids: idListSchema.refine((ids) => ids.length <= MAX_IDS, `at most ${MAX_IDS} ids`).optional(),
});

/** What the items say about whom: the edges of the graph. */
export function relationRoutes(deps: { databases: Databases; items: Items; graph: GraphStore }): Router<RequestState> {
  const router = new Router<RequestState>();

  router.get(
    '/context/relations',
    operation(
      {
        summary: 'Relations between the entities of items',
        description:
          'Of all items of the database or of one collection, or of those named by `id` or `ids`; with the sentences they stand in.',
        query: relationsQuerySchema,
        status: 200,
        response: relationListSchema,
        errors: ['DATABASE_NOT_FOUND', 'SOURCE_NOT_FOUND'],
      },
      async (ctx, { query: { database: name, collection, id, ids = [], limit, cursor }, respond }) => {
        const database = await deps.databases.requireForOrg(ctx.state.principal.org, name);
        const wanted = [...new Set([...(id === undefined ? [] : [id]), ...ids])];
        const named = wanted.length === 0 ? null : await deps.items.listByIds(database._id, wanted, collection);
        if (named?.length === 0) throw new ServiceError('SOURCE_NOT_FOUND', `There is no item "${wanted[0]}".`);
        const found = await deps.graph.listRelations(database._id, {
          refs: named?.map(({ _id, version }) => ({ item: _id, version })),
          after: cursor === undefined ? undefined : openCursor(cursor, CURSOR),
          limit: limit + 1,
        });
        const { shown, next_cursor } = pageOf(found, limit, ({ _id }) => _id);
        // What a replaced or deleted item has left is not cleared away in the same moment.
        const owners = await deps.items.listByKeys([...new Set(shown.map(({ item }) => item))]);
        const current = new Map(
          owners
            .filter((owner) => collection === undefined || owner.collection === collection)
            .map(({ _id, version }) => [_id, version]),
        );
        const relations = shown
          .filter(({ item, version }) => current.get(item) === version)
          .map(({ source, target, relation, source_id, evidence }) => ({
            source,
            target,
            relation,
            source_id,
            evidence,
          }));
        respond({ relations, count: relations.length, next_cursor });
      },
    ),
  );

  return router;
}
