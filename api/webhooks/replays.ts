import Router from '@koa/router';
import { z } from 'zod';
import { ServiceError } from '../../domain/errors.js';
import { newReplayId } from '../../domain/ids.js';
import { indexingDeliveryFilters } from '../../domain/webhooks/delivery-filters.js';
import { RETRYABLE_DELIVERY_STATES } from '../../domain/webhooks/states.js';
import type { DeliveryScope } from '../../storage/webhooks/client-deliveries.js';
import type { ReplayRecord } from '../../storage/webhooks/replays.js';
import { startOrDefer } from '../../temporal/workflow-starter.js';
import { contentOperations } from '../content-operations.js';
import type { Dependencies } from '../dependencies.js';
import { pickFields } from '../pick-fields.js';
import type { RequestState } from '../request-context.js';
import { replayAcceptedSchema, replaySchema } from './responses.js';

const operation = contentOperations('Deliveries');

/** Each process estimates the time: a delivery that another has just stored can be later than the present time of this one. */
const CLOCK_MARGIN_MS = 10_000;

/** An unknown field is rejected: a misspelt filter would match every delivery. */
const replayRequestSchema = z.strictObject({
  ...indexingDeliveryFilters,
  status: z.enum(RETRYABLE_DELIVERY_STATES).optional().meta({ description: 'Default: both.' }),
  dry_run: z.boolean().default(false).meta({ description: 'Only counts the deliveries that match.' }),
});

/** Bulk retries: all failed deliveries that match a filter are sent again. */
export function replayRoutes(deps: Dependencies): Router<RequestState> {
  const { clientDeliveries, replays, idempotencyKeys, starters, log } = deps;
  const router = new Router<RequestState>({ prefix: '/webhooks/indexing' });

  router.post(
    '/deliveries/retry',
    operation(
      {
        summary: 'Retry deliveries',
        description:
          'Sends all failed deliveries that match again, oldest first, at the pace of the receiver. An empty filter ' +
          'matches every failed delivery. With `dry_run` the response has status 200, and nothing is sent.',
        body: replayRequestSchema,
        example: { status: 'permanently_failed', from: '2026-11-01T00:00:00Z', dry_run: true },
        status: 202,
        alternativeStatus: 200,
        response: replayAcceptedSchema,
        idempotencyKeys,
      },
      async (ctx, { org, body: { dry_run, ...filter }, respond, respondWith }) => {
        const now = deps.now();
        // Deliveries that fail later have their own retries.
        const end = new Date(now.getTime() + CLOCK_MARGIN_MS);
        const until = filter.to && filter.to < end ? filter.to : end;
        const bounded = { ...filter, to: until };
        const scope: DeliveryScope = { org, events: ['indexing.status_changed'] };
        const matching = await clientDeliveries.countRetryable(scope, bounded);
        if (dry_run) {
          respond({ replay_id: null, matching, message: 'Nothing was sent, because dry_run is true.' });
          ctx.status = 200;
          return;
        }
        const replay = newReplay(org, bounded, matching, now);
        const message = 'The deliveries are sent again, oldest first.';
        await respondWith({ replay_id: replay._id, matching, message }, (tx) => replays.add(replay, tx));
        await startOrDefer(log, 'replay', { replay_id: replay._id }, () => starters.startReplay(replay));
      },
    ),
  );

  router.get(
    '/replays/:replay_id',
    operation(
      { summary: 'Get the progress of a bulk retry', response: replaySchema, errors: ['NOT_FOUND'] },
      async (ctx, { org, respond }) => {
        const id = ctx.params.replay_id!;
        const replay = await replays.findForOrg(org, id);
        if (!replay) throw new ServiceError('NOT_FOUND', `There is no replay "${id}".`);
        respond(pickFields(replaySchema, { ...replay, replay_id: id }));
      },
    ),
  );

  return router;
}

function newReplay(org: string, filter: ReplayRecord['filter'], matching: number, now: Date): ReplayRecord {
  return {
    _id: newReplayId(),
    org,
    filter,
    status: 'running',
    matching,
    requeued: 0,
    position: null,
    check_at: now,
    expires_at: null,
    created_at: now,
    updated_at: now,
  };
}
