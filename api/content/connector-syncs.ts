import Router from '@koa/router';
import type { ConnectorResources } from '../../storage/connector-resources.js';
import type { Connectors } from '../../storage/connectors.js';
import type { IdempotencyKeys } from '../../storage/idempotency-keys.js';
import type { Launcher } from '../../temporal/launcher.js';
import { settleConnector } from '../../temporal/settle-connector.js';
import type { RequestState } from '../context.js';
import { connectorStatusSchema, describeFailedResource, describeSync, syncStartedSchema } from './connector-answers.js';
import { findConnector } from './connectors.js';
import { openCursor, pageOf, pageQuerySchema } from './cursor.js';
import { bareOperations } from './document.js';

const operation = bareOperations('Connectors');

export interface SyncDependencies {
  connectors: Connectors;
  resources: ConnectorResources;
  idempotencyKeys: IdempotencyKeys;
  launcher: Launcher;
}

/** The syncs of a connector: one at once, and how they go. */
export function syncRoutes(deps: SyncDependencies): Router<RequestState> {
  const router = new Router<RequestState>({ prefix: '/connectors' });
  const { connectors, resources, idempotencyKeys, launcher } = deps;

  router.post(
    '/:connector_id/sync',
    operation(
      {
        summary: 'Sync now',
        description: 'Where a sync runs already, that one is meant. A paused connector is synced once.',
        status: 202,
        answers: syncStartedSchema,
        errors: ['CONNECTOR_NOT_FOUND'],
        idempotencyKeys,
      },
      async (ctx, { answer }) => {
        const connector = await findConnector(connectors, ctx.state.principal.org, ctx.params.connector_id!);
        // Its schedule may not have been made yet.
        if (connector.pending) await settleConnector(launcher, connector);
        const { running } = await launcher.connectorSchedules.describe(connector);
        if (!running) await launcher.connectorSchedules.trigger(connector);
        const message = running ? 'A sync is running.' : 'A sync has been started.';
        answer({ id: connector._id, syncing: true, message });
      },
    ),
  );

  router.get(
    '/:connector_id/status',
    operation(
      {
        summary: 'How its syncs go',
        description: 'The latest sync, the next one, and the resources that failed.',
        query: pageQuerySchema,
        status: 200,
        answers: connectorStatusSchema,
        errors: ['CONNECTOR_NOT_FOUND'],
      },
      async (ctx, { query: { limit, cursor }, answer }) => {
        const connector = await findConnector(connectors, ctx.state.principal.org, ctx.params.connector_id!);
        const { _id: id, sync } = connector;
        const after = cursor === undefined ? undefined : openCursor(cursor, new RegExp(`^${id}/[0-9a-f]{32}$`));
        const [{ next, running }, found] = await Promise.all([
          launcher.connectorSchedules.describe(connector),
          resources.failing(id, { after, limit: limit + 1 }),
        ]);
        const { shown, next_cursor } = pageOf(found, limit, ({ _id }) => _id);
        const counts = sync && (sync.counts ?? (await resources.counts(id, sync.number, sync.removed)));
        answer({
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
