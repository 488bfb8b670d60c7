import Router from '@koa/router';
import { nameSchema, type OwnedDatabase } from '../../domain/content/databases.js';
import { itemIdSchema } from '../../domain/content/ingest.js';
import { idListSchema, requestedIds } from '../../domain/content/items.js';
import { INDEXING_STATUS_TABLE } from '../../domain/content/states.js';
import { ServiceError } from '../../domain/errors.js';
import { isFinalState } from '../../domain/state-machine.js';
import type { Items } from '../../storage/content/items.js';
import { sourceProcessing } from '../../storage/content/removed-items.js';
import { contentOperations } from '../content-operations.js';
import type { Dependencies } from '../dependencies.js';
import { type ListOrder, pageQuery, readPage } from '../pagination.js';
import { pickFields } from '../pick-fields.js';
import type { RequestState } from '../request-context.js';
import { entityListSchema, entitySchema, relationListSchema, relationSchema } from './query-responses.js';

const operation = contentOperations('Context');

/** Each id is a condition of the database query. */
const MAX_IDS = 100;

const BY_ID: ListOrder<{ _id: string }> = {
  position: ({ _id }) => _id,
  pattern: /^itm_[0-9a-z]{26}\/\d{1,9}\/\d{1,9}$/,
};

const graphQuerySchema = pageQuery(BY_ID).extend({
  database: nameSchema,
  collection: nameSchema.optional(),
  id: itemIdSchema.optional(),
  ids: idListSchema(MAX_IDS).optional(),
});

/** Entities of items and their relations: the nodes and the edges of the graph. */
export function relationRoutes(deps: Dependencies): Router<RequestState> {
  const router = new Router<RequestState>();

  router.get(
    '/context/relations',
    operation(
      {
        summary: 'List relations between entities',
        description:
          'The relations found in the items of the database, of one collection, or those named by `id` or `ids`, with the ' +
          'sentences that express them.',
        query: graphQuerySchema,
        response: relationListSchema,
        errors: ['DATABASE_NOT_FOUND', 'SOURCE_NOT_FOUND', 'SOURCE_PROCESSING'],
      },
      async (ctx, { query: { database: name, collection, id, ids, ...page }, respond }) => {
        const database = await deps.databases.requireForOrg(ctx.state.principal.org, name);
        const refs = await requireRefs(deps.items, database, requestedIds({ id, ids }), collection);
        const { records, next_cursor } = await readPage(page, BY_ID, ({ from, limit }) =>
          deps.graph.listRelations(database._id, { refs, from, limit }),
        );
        const current = await withoutOutdated(deps.items, database, records, collection);
        const relations = current.map((relation) => pickFields(relationSchema, relation));
        respond({ relations, count: relations.length, next_cursor });
      },
    ),
  );

  router.get(
    '/context/entities',
    operation(
      {
        summary: 'List the entities of items',
        description: 'What the items named by `id` or `ids` mention, with the sentences. One of the two is required.',
        query: graphQuerySchema,
        response: entityListSchema,
        errors: ['DATABASE_NOT_FOUND', 'SOURCE_NOT_FOUND', 'SOURCE_PROCESSING'],
      },
      async (ctx, { query: { database: name, collection, id, ids, ...page }, respond }) => {
        const database = await deps.databases.requireForOrg(ctx.state.principal.org, name);
        const refs = await requireRefs(deps.items, database, requestedIds({ id, ids }), collection);
        if (!refs) throw new ServiceError('INVALID_PARAMETERS', 'id or ids is required');
        const { records, next_cursor } = await readPage(page, BY_ID, ({ from, limit }) =>
          deps.graph.listEntities(database._id, refs, { from, limit }),
        );
        const entities = records.map((entity) => pickFields(entitySchema, entity));
        respond({ entities, count: entities.length, next_cursor });
      },
    ),
  );

  return router;
}

/**
 * The versions of the items with these ids.
 * @returns undefined without ids: all items are meant
 * @throws ServiceError SOURCE_NOT_FOUND when there is none of these items; SOURCE_PROCESSING before the first version of one
 * is complete
 */
async function requireRefs(
  items: Items,
  database: OwnedDatabase,
  ids: readonly string[],
  collection: string | undefined,
) {
  if (ids.length === 0) return undefined;
  const found = await items.listByIds(database, ids, collection);
  if (found.length === 0) throw new ServiceError('SOURCE_NOT_FOUND', `There is no item "${ids[0]}".`);
  return found.flatMap(({ _id, id, served_version, indexing_status }) => {
    if (served_version !== null) return { item: _id, version: served_version };
    if (isFinalState(INDEXING_STATUS_TABLE, indexing_status)) return [];
    throw sourceProcessing(id);
  });
}

/** Only relations of served versions are shown: those of later versions are not complete, those of others will be removed. */
async function withoutOutdated<Relation extends { item: string; version: number }>(
  items: Items,
  { org }: OwnedDatabase,
  relations: readonly Relation[],
  collection: string | undefined,
): Promise<Relation[]> {
  const keys = new Set(relations.map(({ item }) => item));
  const owners = await items.listByKeys(org, [...keys]);
  const versions = new Map(
    owners
      .filter((owner) => collection === undefined || owner.collection === collection)
      .map(({ _id, served_version }) => [_id, served_version]),
  );
  return relations.filter(({ item, version }) => versions.get(item) === version);
}
