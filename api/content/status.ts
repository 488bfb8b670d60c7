import Router from '@koa/router';
import { z } from 'zod';
import { nameSchema } from '../../domain/content/databases.js';
import { itemIdSchema } from '../../domain/content/ingest.js';
import { idListSchema, requestedIds } from '../../domain/content/items.js';
import { ServiceError } from '../../domain/errors.js';
import type { ItemRecord } from '../../storage/content/items.js';
import { workflowIds } from '../../temporal/workflow-ids.js';
import { contentOperations } from '../content-operations.js';
import type { Dependencies } from '../dependencies.js';
import { pickFields } from '../pick-fields.js';
import type { RequestState } from '../request-context.js';
import { itemStatusSchema } from './item-responses.js';

const operation = contentOperations('Context');

/** Items in the response to a request that names no items. */
const NEWEST = 100;

const statusQuerySchema = z
  .object({
    database: nameSchema,
    collection: nameSchema.optional(),
    id: itemIdSchema.optional(),
    ids: idListSchema().optional(),
  })
  .transform(({ id, ids, ...rest }) => ({ ...rest, ids: requestedIds({ id, ids }) }));

/** The indexing status of items. */
export function statusRoutes(deps: Dependencies): Router<RequestState> {
  const router = new Router<RequestState>();

  router.get(
    '/context/status',
    operation(
      {
        summary: 'Get indexing status',
        description: `Returns the items that \`id\` and \`ids\` name; without both, the newest ${NEWEST} items.`,
        query: statusQuerySchema,
        response: z.object({ statuses: z.array(itemStatusSchema) }),
        errors: ['DATABASE_NOT_FOUND', 'FILE_NOT_FOUND'],
      },
      async (ctx, { query: { database: name, collection, ids }, respond }) => {
        const database = await deps.databases.requireForOrg(ctx.state.principal.org, name);
        if (ids.length === 0) {
          const newest = await deps.itemCatalogue.list(database, { collection }, { limit: NEWEST });
          return respond({ statuses: newest.map((item) => describeStatus(item.id, item)) });
        }
        const found = await deps.items.listByIds(database, ids, collection);
        if (ids.length === 1 && found.length === 0) {
          throw new ServiceError(
            'FILE_NOT_FOUND',
            `There is no item "${ids[0]}". A file that was rejected at upload has no status.`,
          );
        }
        const byId = new Map(found.map((item) => [item.id, item]));
        respond({ statuses: ids.map((id) => describeStatus(id, byId.get(id))) });
      },
    ),
  );

  return router;
}

function describeStatus(id: string, item: ItemRecord | undefined) {
  if (!item) {
    return {
      id,
      collection: null,
      indexing_status: null,
      failed_step: null,
      version: null,
      served_version: null,
      error_code: 'FILE_NOT_FOUND',
      error_message: 'There is no such item.',
      workflow: null,
      created_at: null,
      updated_at: null,
    };
  }
  const failed_step = item.indexing_status === 'errored' ? (item.failed_step ?? null) : null;
  return pickFields(itemStatusSchema, { ...item, failed_step, workflow: workflowIds.item(item) });
}
