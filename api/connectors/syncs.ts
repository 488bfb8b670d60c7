import Router from '@koa/router';
import type { Connectors } from '../../storage/connectors/connectors.js';
import type { ConnectorResources } from '../../storage/connectors/resources.js';
import type { IdempotencyKeys } from '../../storage/idempotency-keys.js';
import type { ConnectorStarters } from '../../temporal/connectors/starters.js';
import { plainOperations } from '../content-operations.js';
import { openCursor, pageOf, pageQuerySchema } from '../pagination.js';
import type { RequestState } from '../request-context.js';
import { findConnector } from './connectors.js';
import { connectorStatusSchema, describeFailedResource, describeSync, syncStartedSchema } from './responses.js';

const operation = plainOperations('Connectors');

export interface SyncDependencies {
  connectors: Connectors;
  resources: ConnectorResources;
  idempotencyKeys: IdempotencyKeys;
  starters: ConnectorStarters;
}

/** The syncs of a connector: one at once, and how they go. */
export function syncRoutes(deps: SyncDependencies): Router<RequestState> {
  const router = new Router<RequestState>({ prefix: '/connectors' });
  const { connectors, resources, idempotencyKeys, starters } = deps;

  router.post(
    '/:connector_id/sync',
    operation(
      {
        summary: 'Sync now',
        description: 'Where a sync runs already, that one is meant. A paused connector is synced once.',
        status: 202,
        response: syncStartedSchema,
        errors: ['CONNECTOR_NOT_FOUND'],
        idempotencyKeys,
      },
      async (ctx, { respond }) => {
        const connector = await findConnector(connectors, ctx.state.principal.org, ctx.params.connector_id!);
        // Its schedule may not have been made yet.
        if (connector.pending) await starters.applyConnector(connector);
        const { running } = await starters.describeSchedule(connector);
        if (!running) await starters.triggerSync(connector);
        const message = running ? 'A sync is running.' : 'A sync has been started.';
        respond({ id: connector._id, syncing: true, message });
      },
    ),
  );

  router.get(
    '/:connector_id/status',
    operation(
      {
        summary: 'Get sync status',
        description: 'The latest sync, the next one, and the resources that failed.',
        query: pageQuerySchema,
        status: 200,
        response: connectorStatusSchema,
        errors: ['CONNECTOR_NOT_FOUND'],
      },
      async (ctx, { query: { limit, cursor }, respond }) => {
        const connector = await findConnector(connectors, ctx.state.principal.org, ctx.params.connector_id!);
        const { _id: id, sync } = connector;
        const after = cursor === undefined ? undefined : openCursor(cursor, new RegExp(`^${id}/[0-9a-f]{32}$`));
        const [{ next, running }, found] = await Promise.all([
          starters.describeSchedule(connector),
          resources.listFailing(id, { after, limit: limit + 1 }),
        ]);
        const { shown, next_cursor } = pageOf(found, limit, ({ _id }) => _id);
        const counts = sync && (sync.counts ?? (await resources.countOutcomes(id, sync.number, sync.removed)));
        respond({
          id,
          syncing: running,
          last_sync: sync && describeSync(sync, counts!),
          next_sync_at: next?.toISOString() ?? null,
          errors: shown.map(describeFailedResource),
          next_cursor,
        });
      },
    ),
  );

  return router;
}
