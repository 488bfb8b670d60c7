import Router from '@koa/router';
import { z } from 'zod';
import { nameSchema } from '../../domain/content/databases.js';
import {
  asServed,
  changeItemSchema,
  deleteItemsBodySchema,
  deleteItemsSchema,
  itemFilterSchema,
  requestedIds,
} from '../../domain/content/items.js';
import { metadataFault, unstorableMetadata } from '../../domain/content/metadata.js';
import { ServiceError } from '../../domain/errors.js';
import type { DatabaseRecord } from '../../storage/content/databases.js';
import { refreshIndexRows } from '../../storage/content/index-rows.js';
import type { ItemRecord } from '../../storage/content/items.js';
import { startOrDefer } from '../../temporal/workflow-starter.js';
import { contentOperations, plainOperations } from '../content-operations.js';
import type { Dependencies } from '../dependencies.js';
import { byId, type ListOrder, pageQuery, readPage } from '../pagination.js';
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

const placeFields = { database: nameSchema, collection: nameSchema.optional() };
const NOT_FOUND = ['DATABASE_NOT_FOUND', 'SOURCE_NOT_FOUND'] as const;
/** 409 only before the first version of an item is complete. */
const READING = [...NOT_FOUND, 'SOURCE_PROCESSING'] as const;
const NEWEST_FIRST = byId('itm');
const BY_ORDINAL: ListOrder<{ ordinal: number }> = { position: ({ ordinal }) => String(ordinal), pattern: /^\d{1,9}$/ };

/** Reading, changing and deleting items. */
export function itemRoutes(deps: Dependencies): Router<RequestState> {
  const { databases, itemCatalogue, chunks, removedItems } = deps;
  const router = new Router<RequestState>({ prefix: '/context' });

  router.get(
    '/list',
    operation(
      {
        summary: 'List items',
        query: pageQuery(NEWEST_FIRST).extend(placeFields).extend(itemFilterSchema.shape),
        response: itemListSchema,
        errors: ['DATABASE_NOT_FOUND'],
      },
      async (ctx, { query: { database: name, limit, cursor, ...filter }, respond }) => {
        const database = await databases.requireForOrg(ctx.state.principal.org, name);
        const { records, next_cursor } = await readPage({ limit, cursor }, NEWEST_FIRST, (page) =>
          itemCatalogue.list(database, filter, page),
        );
        respond({ items: records.map(describeItem), count: records.length, next_cursor });
      },
    ),
  );

  router.get(
    '/:id',
    operation(
      {
        summary: 'Get an item and its text',
        description:
          'The extracted text is returned in chunks, as they are searched, one page at a time. Neighbouring chunks overlap by a ' +
          'few sentences, which `overlap` measures. While a replacement is being processed, and after it has failed, the version before is returned. 409 ' +
          'only until the first version is complete.',
        query: pageQuery(BY_ORDINAL).extend(placeFields),
        response: itemDetailSchema,
        errors: READING,
      },
      async (ctx, { query: { database: name, collection, ...page }, respond }) => {
        const database = await databases.requireForOrg(ctx.state.principal.org, name);
        const item = await itemCatalogue.require(database, ctx.params.id!, collection);
        const { _id: key, org, database_id } = item;
        const ref = { item: key, org, database_id, version: item.served_version ?? item.version };
        const { records, next_cursor } = await readPage(page, BY_ORDINAL, ({ from, limit }) =>
          chunks.listPage(ref, from === undefined ? 0 : Number(from) + 1, limit),
        );
        respond({ ...describeItem(item), chunks: records.map(describeChunk), next_cursor });
      },
    ),
  );

  router.get(
    '/:id/content',
    download(
      {
        summary: 'Download the ingested file or text',
        description: 'Byte for byte as it was sent. Supports `Range` and `If-Range`.',
        query: z.object(placeFields),
        alternativeStatus: 206,
        // The media type of the file.
        type: '*/*',
        response: z.string().meta({ format: 'binary' }),
        errors: [...READING, 'RANGE_NOT_SATISFIABLE'],
      },
      async (ctx, { query: { database: name, collection } }) => {
        const database = await databases.requireForOrg(ctx.state.principal.org, name);
        const item = await itemCatalogue.require(database, ctx.params.id!, collection);
        await sendOriginal(ctx, deps.files, asServed(item));
      },
    ),
  );

  router.patch(
    '/:id',
    operation(
      {
        summary: 'Update the metadata of an item',
        description:
          'The sent fields are merged into the existing ones; null removes a field. Searches use the new values at once, or, ' +
          'while the search index is unavailable, as soon as it is back.',
        body: changeItemSchema,
        example: { database: 'library', metadata: { year: 2026 }, additional_metadata: { draft: null } },
        response: itemSchema,
        errors: [...NOT_FOUND, 'SOURCE_PROCESSING'],
      },
      async (ctx, { body: { database: name, collection, ...change }, respond }) => {
        const database = await databases.requireForOrg(ctx.state.principal.org, name);
        const named = { id: ctx.params.id!, collection };
        const updated = await itemCatalogue.update(database, named, change, (merged) => checkMerged(database, merged));
        respond(describeItem(updated.item));
        await updateIndex(updated.item, updated.change);
      },
    ),
  );

  router.delete(
    '/',
    operation(
      {
        summary: 'Delete items',
        description:
          'By `id` or `ids`, in the body or in the query. An item that is being processed ends as `errored` with E2005, which ' +
          'its webhook reports. Unknown ids are returned in `not_found`; 404 when all are unknown. Deleted ids can be used again.',
        query: deleteItemsSchema.partial(),
        body: deleteItemsBodySchema,
        example: { database: 'library', ids: ['handbook', 'opening-hours'] },
        response: itemsDeletedSchema,
        errors: NOT_FOUND,
      },
      async (ctx, { query, body, respond }) => {
        const request = read(deleteItemsSchema, { ...query, ...body }, { parameters: Object.keys(body).length === 0 });
        const ids = requestedIds(request);
        if (ids.length === 0) throw new ServiceError('INVALID_PARAMETERS', 'id or ids is required');
        const { org } = ctx.state.principal;
        const { collection } = request;
        const database = await databases.requireForOrg(org, request.database);
        const { removed, not_found, ref, deliveries } = await removedItems.remove(database, { ids, collection });
        if (!ref) throw new ServiceError('SOURCE_NOT_FOUND', `There is no item "${ids[0]}".`);
        await startOrDefer(deps.log, 'removal', ref, () => deps.starters.startRemoval(ref));
        void startOrDefer(deps.log, 'deliveries', ref, () => deps.starters.startDeliveries(deliveries));
        respond({ deleted: removed, not_found, deleted_count: removed.length });
      },
    ),
  );

  return router;

  /** The index rows are recorded as due: when this fails, a workflow writes them, which the reconciler starts if necessary. */
  async function updateIndex(item: ItemRecord, change: string): Promise<void> {
    try {
      await refreshIndexRows(deps, { org: item.org, key: item._id }, change);
    } catch (error) {
      deps.log.warn({ err: error, item: item._id }, 'index rows not written after a metadata update');
      await startOrDefer(deps.log, 'rewrite of index rows', { item: item._id }, () =>
        deps.starters.startIndexRows(item),
      );
    }
  }
}

/**
 * Checks metadata as it is after an update: small updates can add up to more than the limit.
 * @throws ServiceError VALIDATION_ERROR
 */
function checkMerged(
  { metadata_schema }: DatabaseRecord,
  merged: Partial<Pick<ItemRecord, 'metadata' | 'additional_metadata'>>,
): void {
  const fault = merged.metadata && metadataFault(metadata_schema, merged.metadata);
  if (fault) throw new ServiceError('VALIDATION_ERROR', `metadata.${fault}`);
  for (const [field, value] of Object.entries(merged)) {
    const unfit = unstorableMetadata(value);
    if (unfit) throw new ServiceError('VALIDATION_ERROR', `${field}: ${unfit}`);
  }
}
