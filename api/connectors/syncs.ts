import Router from '@koa/router';
import { applyConnector } from '../../temporal/connectors/apply-connector.js';
import { plainOperations } from '../content-operations.js';
import type { Dependencies } from '../dependencies.js';
import { type ListOrder, pageQuery, readPage } from '../pagination.js';
import { pickFields } from '../pick-fields.js';
import type { RequestState } from '../request-context.js';
import { requireConnector } from './connectors.js';
import { connectorStatusSchema, describeFailedResource, lastSyncSchema, syncStartedSchema } from './responses.js';

const operation = plainOperations('Connectors');

/** The order of failed resources: the part of their ids that follows the connector's id, a hash of the address. */
const BY_ADDRESS: ListOrder<{ _id: string }> = {
  position: ({ _id }) => _id.slice(_id.indexOf('/') + 1),
  pattern: /^[0-9a-f]{32}$/,
};

/** Starting a sync of a connector, and the status of its syncs. */
export function syncRoutes(deps: Dependencies): Router<RequestState> {
  const router = new Router<RequestState>({ prefix: '/connectors' });
  const { resources, idempotencyKeys, starters } = deps;

  router.post(
    '/:connector_id/sync',
    operation(
      {
        summary: 'Start a sync',
        description: 'Does nothing while a sync is running. A paused connector is synced once.',
        status: 202,
        response: syncStartedSchema,
        errors: ['CONNECTOR_NOT_FOUND'],
        idempotencyKeys,
      },
      async (ctx, { respond }) => {
        const connector = await requireConnector(deps, ctx);
        // The schedule may not exist yet.
        if (connector.pending) await applyConnector(deps, connector);
        const { running } = await starters.describeSchedule(connector);
        if (!running) {
          await starters.triggerSync(connector).catch(async (error: unknown) => {
            // The schedule is gone with a connector that was deleted meanwhile.
            await requireConnector(deps, ctx);
            throw error;
          });
        }
        const message = running ? 'A sync is already running.' : 'A sync has been started.';
        respond({ id: connector._id, syncing: true, message });
      },
    ),
  );

  router.get(
    '/:connector_id/status',
    operation(
      {
        summary: 'Get sync status',
        description: 'The latest sync, the time of the next one, and the resources whose last fetch failed.',
        query: pageQuery(BY_ADDRESS),
        response: connectorStatusSchema,
        errors: ['CONNECTOR_NOT_FOUND'],
      },
      async (ctx, { query, respond }) => {
        const connector = await requireConnector(deps, ctx);
        const { _id: id, org, sync } = connector;
        const ref = { org, connector: id };
        const [{ next, running }, { records, next_cursor }] = await Promise.all([
          starters.describeSchedule(connector),
          readPage(query, BY_ADDRESS, ({ from, limit }) =>
            resources.listFailing(ref, { from: from && `${id}/${from}`, limit }),
          ),
        ]);
        const counts =
          sync && (sync.counts ?? (await resources.countOutcomes({ ...ref, sync: sync.number }, sync.removed)));
        respond({
          id,
          syncing: running,
          last_sync: sync && pickFields(lastSyncSchema, { ...sync, counts: counts! }),
          next_sync_at: next?.toISOString() ?? null,
          errors: records.map(describeFailedResource),
          next_cursor,
        });
      },
    ),
  );

  return router;
}
