import Router from '@koa/router';
import { z } from 'zod';
import { nameSchema } from '../../domain/content/databases.js';
import { refreshIndexRows } from '../../domain/content/index-rows.js';
import { changeItemSchema, deleteItemsSchema, itemFilterSchema } from '../../domain/content/items.js';
import { metadataFault, unfitMetadata } from '../../domain/content/metadata.js';
import type { SearchIndex } from '../../domain/content/search.js';
import { ServiceError } from '../../domain/errors.js';
import type { FileStore } from '../../domain/file-store.js';
import type { Chunks } from '../../storage/content/chunks.js';
import type { Databases } from '../../storage/content/databases.js';
import type { ItemCatalogue } from '../../storage/content/item-catalogue.js';
import type { ItemRecord, Items } from '../../storage/content/items.js';
import type { RemovedItems } from '../../storage/content/removed-items.js';
import type { ContentStarters } from '../../temporal/content/starters.js';
import { startOrDefer } from '../../temporal/workflow-starter.js';
import { contentOperations, plainOperations } from '../content-operations.js';
import { openCursor, pageOf, pageQuerySchema } from '../pagination.js';
import type { RequestState } from '../request-context.js';
import { read } from '../validation.js';
import { sendOriginal } from './download.js';
import {
  describeChunk,
  describeItem,
  itemDetailSchema,
  itemListSchema,
  itemSchema,
  itemsDeletedSchema,
} from './item-responses.js';

const operation = contentOperations('Context');
const download = plainOperations('Context');

export interface ItemDependencies {
  databases: Databases;
  itemCatalogue: ItemCatalogue;
  items: Items;
  chunks: Chunks;
  files: FileStore;
  index: SearchIndex;
  removedItems: RemovedItems;
  starters: ContentStarters;
  log: { warn(details: object, message: string): void };
}

const place = { database: nameSchema, collection: nameSchema.optional() };
const NOT_FOUND = ['DATABASE_NOT_FOUND', 'SOURCE_NOT_FOUND'] as const;
const CURSOR = /^itm_[0-9a-z]{26}$/;
const ORDINAL = /^\d{1,9}$/;

/** Items that are there: read, changed and deleted. */
export function itemRoutes(deps: ItemDependencies): Router<RequestState> {
  const { databases, itemCatalogue, chunks } = deps;
  const router = new Router<RequestState>({ prefix: '/context' });

  router.get(
    '/list',
    operation(
      {
        summary: 'List items',
        query: pageQuerySchema.extend(place).extend(itemFilterSchema.shape),
        status: 200,
        response: itemListSchema,
        errors: ['DATABASE_NOT_FOUND'],
      },
      async (ctx, { query: { database: name, limit, cursor, ...filter }, respond }) => {
        const database = await databases.requireForOrg(ctx.state.principal.org, name);
        const before = cursor === undefined ? undefined : openCursor(cursor, CURSOR);
        const found = await itemCatalogue.list(database._id, filter, { before, limit: limit + 1 });
        const { shown, next_cursor } = pageOf(found, limit, ({ _id }) => _id);
        respond({ items: shown.map(describeItem), count: shown.length, next_cursor });
      },
    ),
  );

  router.get(
    '/:id',
    operation(
      {
        summary: 'An item with the text that was read from it',
        description:
          'The text comes in the chunks that are searched, a page at a time; neighbours repeat a few sentences.',
        query: pageQuerySchema.extend(place),
        status: 200,
        response: itemDetailSchema,
        errors: NOT_FOUND,
      },
      async (ctx, { query: { database: name, collection, limit, cursor }, respond }) => {
        const database = await databases.requireForOrg(ctx.state.principal.org, name);
        const item = await itemCatalogue.require(database._id, ctx.params.id!, collection);
        const from = cursor === undefined ? 0 : Number(openCursor(cursor, ORDINAL)) + 1;
        const found = await chunks.listPage({ item: item._id, version: item.version }, from, limit + 1);
        const { shown, next_cursor } = pageOf(found, limit, ({ ordinal }) => String(ordinal));
        respond({ ...describeItem(item), chunks: shown.map(describeChunk), next_cursor });
      },
    ),
  );

  router.get(
    '/:id/content',
    download(
      {
        summary: 'Download what was ingested',
        description: 'The file as it was sent, or the text. Takes `Range` and `If-Range`.',
        query: z.object(place),
        status: 200,
        alsoStatus: 206,
        type: 'application/octet-stream',
        response: z.string().meta({ format: 'binary' }),
        errors: [...NOT_FOUND, 'RANGE_NOT_SATISFIABLE'],
      },
      async (ctx, { query: { database: name, collection } }) => {
        const database = await databases.requireForOrg(ctx.state.principal.org, name);
        sendOriginal(ctx, deps.files, await itemCatalogue.require(database._id, ctx.params.id!, collection));
      },
    ),
  );

  router.patch(
    '/:id',
    operation(
      {
        summary: 'Change the metadata of an item',
        description:
          'What is given is merged into what is there; null takes a field away. The search follows at once or, where its index is away, ' +
          'when that is back.',
        body: changeItemSchema,
        example: { database: 'library', metadata: { year: 2026 }, additional_metadata: { draft: null } },
        status: 200,
        response: itemSchema,
        errors: [...NOT_FOUND, 'SOURCE_PROCESSING'],
      },
      async (ctx, { body: { database: name, collection, ...change }, respond }) => {
        const database = await databases.requireForOrg(ctx.state.principal.org, name);
        const of = { database_id: database._id, id: ctx.params.id!, collection };
        const { item, change: id } = await itemCatalogue.update(of, change, (changed) => {
          for (const [name, value] of Object.entries(changed)) {
            const fault = name === 'metadata' ? metadataFault(database.metadata_schema, value) : null;
            if (fault) throw new ServiceError('VALIDATION_ERROR', `metadata.${fault}`);
            // Each change may be small enough, and what they add up to not.
            const unfit = unfitMetadata(value);
            if (unfit) throw new ServiceError('VALIDATION_ERROR', `${name}: ${unfit}`);
          }
        });
        respond(describeItem(item));
        await followInSearch(item, id);
      },
    ),
  );

  router.delete(
    '/',
    operation(
      {
        summary: 'Delete items',
        description:
          'By `id` or `ids`, in the body or in the query. All of them or, when one is still being processed, none; ids that are not there are ' +
          'named in the answer, and are 404 when none is. Ids may be used again.',
        query: deleteItemsSchema.partial(),
        body: deleteItemsSchema.partial(),
        example: { database: 'library', ids: ['handbook', 'opening-hours'] },
        status: 200,
        response: itemsDeletedSchema,
        errors: [...NOT_FOUND, 'SOURCE_PROCESSING'],
      },
      async (ctx, { query, body, respond }) => {
        const { database: name, collection, id, ids = [] } = read(deleteItemsSchema, { ...query, ...body });
        const wanted = [...new Set([...(id === undefined ? [] : [id]), ...ids])];
        if (wanted.length === 0) throw new ServiceError('INVALID_PARAMETERS', 'id or ids: is required');
        const database = await databases.requireForOrg(ctx.state.principal.org, name);
        const removal = await deps.removedItems.remove(database, { ids: wanted, collection, inProgress: 'reject' });
        if (!removal.ref) throw new ServiceError('SOURCE_NOT_FOUND', `There is no item "${wanted[0]}".`);
        const { ref } = removal;
        await startOrDefer(deps.log, 'removal', ref, () => deps.starters.startRemoval(ref));
        respond({ deleted: removal.removed, not_found: removal.not_found, deleted_count: removal.removed.length });
      },
    ),
  );

  return router;

  /** The rows are on record as due: when the index is away a workflow writes them, and when Temporal is too, the sweep starts it. */
  async function followInSearch(item: ItemRecord, change: string): Promise<void> {
    try {
      await refreshIndexRows(deps, { item: item._id, version: item.version }, change);
    } catch (error) {
      deps.log.warn({ err: error, item: item._id }, 'index rows not written after a change of metadata');
      await startOrDefer(deps.log, 'rewrite of index rows', { item: item._id }, () =>
        deps.starters.startIndexRows(item),
      );
    }
  }
}
