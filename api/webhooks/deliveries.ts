import Router from '@koa/router';
import type { Logger } from 'pino';
import { z } from 'zod';
import { ServiceError } from '../../domain/errors.js';
import { DELIVERY_STATES } from '../../domain/states.js';
import type { IdempotencyKeys } from '../../storage/idempotency-keys.js';
import type { Deliveries, DeliveryRecord } from '../../storage/webhooks/deliveries.js';
import type { DeliveryStarters } from '../../temporal/webhooks/starters.js';
import { workflowIds } from '../../temporal/workflow-ids.js';
import { startOrDefer } from '../../temporal/workflow-starter.js';
import { contentOperations } from '../content-operations.js';
import { byId, pageQuery, readPage } from '../pagination.js';
import type { RequestState } from '../request-context.js';
import {
  deliveryDetailSchema,
  deliveryListSchema,
  deliveryQueuedSchema,
  describeDelivery,
} from './delivery-responses.js';

const operation = contentOperations('Deliveries');

const NEWEST_FIRST = byId('dlv');

const listQuerySchema = pageQuery(NEWEST_FIRST).extend({ status: z.enum(DELIVERY_STATES).optional() });

/** Callbacks of AI jobs and crews are deliveries too, but not listed here. */
const EVENT = 'indexing.status_changed';

export interface DeliveryDependencies {
  deliveries: Deliveries;
  idempotencyKeys: IdempotencyKeys;
  starters: DeliveryStarters;
  log: Logger;
}

/** Webhook deliveries, their attempts, and manual retries. */
export function deliveryRoutes({
  deliveries,
  idempotencyKeys,
  starters,
  log,
}: DeliveryDependencies): Router<RequestState> {
  const router = new Router<RequestState>({ prefix: '/webhooks/indexing/deliveries' });

  router.get(
    '/',
    operation(
      { summary: 'List deliveries', query: listQuerySchema, status: 200, response: deliveryListSchema },
      async (ctx, { query: { status, ...page }, respond }) => {
        const { org } = ctx.state.principal;
        const { records, next_cursor } = await readPage(page, NEWEST_FIRST, ({ from, limit }) =>
          deliveries.listForOrg(org, EVENT, { status, before: from, limit }),
        );
        respond({ deliveries: records.map(describeDelivery), count: records.length, next_cursor });
      },
    ),
  );

  router.get(
    '/:delivery_id',
    operation(
      { summary: 'Get a delivery', status: 200, response: deliveryDetailSchema, errors: ['DELIVERY_NOT_FOUND'] },
      async (ctx, { respond }) => {
        const record = await requireDelivery(ctx.state.principal.org, ctx.params.delivery_id!);
        respond({
          ...describeDelivery(record),
          url: record.url,
          payload: record.payload,
          attempt_log: record.attempt_log.map((entry) => ({ ...entry, at: entry.at.toISOString() })),
          next_attempt_at: record.next_attempt_at?.toISOString() ?? null,
          workflow: typeof record.lane === 'number' ? workflowIds.lane(record.lane) : workflowIds.delivery(record._id),
        });
      },
    ),
  );

  router.post(
    '/:delivery_id/retry',
    operation(
      {
        summary: 'Retry a delivery',
        description: 'Sends a failed delivery again at once.',
        status: 200,
        response: deliveryQueuedSchema,
        errors: ['DELIVERY_NOT_FOUND', 'DELIVERY_NOT_RETRYABLE'],
        idempotencyKeys,
      },
      async (ctx, { respondWith }) => {
        const { org } = ctx.state.principal;
        const record = await requireDelivery(org, ctx.params.delivery_id!);
        const { _id: delivery_id, status } = record;
        await respondWith({ delivery_id, queued: true, message: 'Queued for delivery.' }, async (tx) => {
          if (await deliveries.requeue(org, EVENT, delivery_id, tx)) return;
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

  async function requireDelivery(org: string, id: string): Promise<DeliveryRecord> {
    const record = await deliveries.findForOrg(org, EVENT, id);
    if (!record) throw new ServiceError('DELIVERY_NOT_FOUND', `There is no delivery "${id}".`);
    return record;
  }
}
