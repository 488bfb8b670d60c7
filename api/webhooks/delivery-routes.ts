import Router, { type RouterContext } from '@koa/router';
import type { z } from 'zod';
import type { Principal } from '../../domain/api-keys.js';
import { ServiceError } from '../../domain/errors.js';
import { deliveryFilters, indexingDeliveryFilters } from '../../domain/webhooks/delivery-filters.js';
import type { DeliveryScope } from '../../storage/webhooks/client-deliveries.js';
import type { DeliveryRecord } from '../../storage/webhooks/deliveries.js';
import { startOrDefer } from '../../temporal/workflow-starter.js';
import { contentOperations } from '../content-operations.js';
import type { Dependencies } from '../dependencies.js';
import type { operations } from '../operation.js';
import { byId, pageQuery, readPage } from '../pagination.js';
import type { RequestState } from '../request-context.js';
import {
  deliveryDetailSchema,
  deliveryListSchema,
  deliveryQueuedSchema,
  describeDelivery,
  describeDeliveryDetail,
} from './responses.js';

/** Where the deliveries of one service are shown, and which. */
export interface DeliveryRouteOptions {
  prefix: string;
  /** Declares the routes, in the service's envelope. */
  operation: ReturnType<typeof operations>;
  /** What the service calls them in summaries, such as `delivery` or `callback`. */
  noun: { one: string; many: string };
  /** What the list has, when its name does not say it. */
  description?: string;
  /** Filters of the list in addition to those of every list. */
  filters?: z.ZodRawShape;
  /**
   * Whether a key may read the body, the address and the answers of a delivery, and retry it; every key that may read the delivery,
   * when absent.
   */
  mayHandle?(principal: Principal, delivery: DeliveryRecord): boolean;
  scopeOf(ctx: RouterContext<RequestState>): DeliveryScope;
}

const NEWEST_FIRST = byId('dlv');

/** Lists, reads and retries the deliveries of a service. */
export function deliveryRoutes(
  { clientDeliveries, idempotencyKeys, showLastRequest, starters, log }: Dependencies,
  { prefix, operation, noun, description, filters = {}, mayHandle = () => true, scopeOf }: DeliveryRouteOptions,
): Router<RequestState> {
  const router = new Router<RequestState>({ prefix });
  const query = pageQuery(NEWEST_FIRST).extend({ ...deliveryFilters, ...filters });

  router.get(
    '/',
    operation(
      { summary: `List ${noun.many}`, description, query, response: deliveryListSchema },
      async (ctx, { query: { limit, cursor, ...filter }, respond }) => {
        const { records, next_cursor } = await readPage({ limit, cursor }, NEWEST_FIRST, (page) =>
          clientDeliveries.list(scopeOf(ctx), filter, page),
        );
        const deliveries = records.map((record) => describeDelivery(record, mayHandle(ctx.state.principal, record)));
        respond({ deliveries, count: records.length, next_cursor });
      },
    ),
  );

  router.get(
    '/:delivery_id',
    operation(
      { summary: `Get a ${noun.one}`, response: deliveryDetailSchema, errors: ['DELIVERY_NOT_FOUND'] },
      async (ctx, { respond }) => {
        const record = await requireDelivery(ctx);
        const isReadable = mayHandle(ctx.state.principal, record);
        respond(describeDeliveryDetail(record, isReadable, isReadable ? await showLastRequest(record) : null));
      },
    ),
  );

  router.post(
    '/:delivery_id/retry',
    operation(
      {
        summary: `Retry a ${noun.one}`,
        description: `Sends a failed ${noun.one} again at once.`,
        response: deliveryQueuedSchema,
        errors: ['DELIVERY_NOT_FOUND', 'DELIVERY_NOT_RETRYABLE'],
        idempotencyKeys,
      },
      async (ctx, { respondWith }) => {
        const record = await requireDelivery(ctx);
        if (!mayHandle(ctx.state.principal, record)) {
          throw new ServiceError('FORBIDDEN', 'Only a key of the service that the delivery belongs to can retry it.');
        }
        const { _id: delivery_id, status } = record;
        await respondWith({ delivery_id, queued: true, message: 'Queued for delivery.' }, async (tx) => {
          if (await clientDeliveries.requeue(scopeOf(ctx), delivery_id, tx)) return;
          throw new ServiceError(
            'DELIVERY_NOT_RETRYABLE',
            `Only failed deliveries can be retried; this delivery is ${status}.`,
          );
        });
        await startOrDefer(log, 'retry', { delivery_id }, () => starters.retryDelivery(record));
      },
    ),
  );

  return router;

  async function requireDelivery(ctx: RouterContext<RequestState>): Promise<DeliveryRecord> {
    const id = ctx.params.delivery_id!;
    const record = await clientDeliveries.find(scopeOf(ctx), id);
    if (!record) throw new ServiceError('DELIVERY_NOT_FOUND', `There is no delivery "${id}".`);
    return record;
  }
}

/** Webhook deliveries of items, their attempts, and manual retries. */
export function indexingDeliveryRoutes(deps: Dependencies): Router<RequestState> {
  return deliveryRoutes(deps, {
    prefix: '/webhooks/indexing/deliveries',
    operation: contentOperations('Deliveries'),
    noun: { one: 'delivery', many: 'deliveries' },
    filters: indexingDeliveryFilters,
    scopeOf: ({ state }) => ({ org: state.principal.org, events: ['indexing.status_changed'] }),
  });
}
