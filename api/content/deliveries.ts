import Router from '@koa/router';
import type { Logger } from 'pino';
import { z } from 'zod';
import { ServiceError } from '../../domain/errors.js';
import { DELIVERY_STATES } from '../../domain/states.js';
import type { Deliveries } from '../../storage/deliveries.js';
import type { IdempotencyKeys } from '../../storage/idempotency-keys.js';
import type { DeliveryRecord } from '../../storage/records/deliveries.js';
import type { Launcher } from '../../temporal/launcher.js';
import type { RequestState } from '../context.js';
import { openCursor, pageOf, pageQuerySchema } from './cursor.js';
import {
  deliveryDetailSchema,
  deliveryListSchema,
  deliveryQueuedSchema,
  describeDelivery,
} from './delivery-answers.js';
import { contentOperations } from './document.js';

const operation = contentOperations('Deliveries');

const listQuerySchema = pageQuerySchema.extend({ status: z.enum(DELIVERY_STATES).optional() });

const CURSOR = /^dlv_[0-9a-z]{26}$/;

/** Other services' callbacks have no place in this list. */
const EVENT = 'indexing.status_changed';

/** Delivery records: what was announced to whom, how it went, and the button to try again. */
export function deliveryRoutes({
  deliveries,
  idempotencyKeys,
  launcher,
  log,
}: {
  deliveries: Deliveries;
  idempotencyKeys: IdempotencyKeys;
  launcher: Launcher;
  log: Logger;
}): Router<RequestState> {
  const router = new Router<RequestState>({ prefix: '/webhooks/indexing/deliveries' });

  router.get(
    '/',
    operation(
      { summary: 'List deliveries', query: listQuerySchema, status: 200, answers: deliveryListSchema },
      async (ctx, { query: { limit, status, cursor }, answer }) => {
        const before = cursor === undefined ? undefined : openCursor(cursor, CURSOR);
        const found = await deliveries.list(ctx.state.principal.org, EVENT, { status, before, limit: limit + 1 });
        const { shown, next_cursor } = pageOf(found, limit, ({ _id }) => _id);
        answer({ deliveries: shown.map(describeDelivery), count: shown.length, next_cursor });
      },
    ),
  );

  router.get(
    '/:delivery_id',
    operation(
      { summary: 'One delivery', status: 200, answers: deliveryDetailSchema, errors: ['DELIVERY_NOT_FOUND'] },
      async (ctx, { answer }) => {
        const record = await find(ctx.state.principal.org, ctx.params.delivery_id!);
        answer({
          ...describeDelivery(record),
          url: record.url,
          payload: record.payload,
          attempt_log: record.attempt_log.map((entry) => ({ ...entry, at: entry.at.toISOString() })),
          next_attempt_at: record.next_attempt_at?.toISOString() ?? null,
        });
      },
    ),
  );

  router.post(
    '/:delivery_id/retry',
    operation(
      {
        summary: 'Try a failed delivery again at once',
        status: 200,
        answers: deliveryQueuedSchema,
        errors: ['DELIVERY_NOT_FOUND', 'DELIVERY_NOT_RETRYABLE'],
        idempotencyKeys,
      },
      async (ctx, { answer }) => {
        const { org } = ctx.state.principal;
        const record = await find(org, ctx.params.delivery_id!);
        answer({ delivery_id: record._id, queued: true, message: 'Queued for delivery.' });
        if ((await deliveries.requeue(org, EVENT, record._id, ctx.state.keepAnswer)) === null) {
          throw new ServiceError(
            'DELIVERY_NOT_RETRYABLE',
            `Only failed deliveries can be retried; this one is ${record.status}.`,
          );
        }
        // It is pending and due: when Temporal is away the sweep sends it as soon as it is back.
        await launcher.retryDelivery(record).catch((error) => {
          log.warn({ err: error, delivery_id: record._id }, 'retry not started; the sweep will start it');
        });
      },
    ),
  );

  return router;

  async function find(org: string, id: string): Promise<DeliveryRecord> {
    const record = await deliveries.find(org, EVENT, id);
    if (!record) throw new ServiceError('DELIVERY_NOT_FOUND', `There is no delivery "${id}".`);
    return record;
  }
}
