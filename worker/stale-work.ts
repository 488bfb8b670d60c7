import { type StaleWork, staleWork } from '../activities/reconcile.js';
import type { StaleKind } from '../domain/workflow-contract.js';
import type { SharedDependencies } from '../runtime/dependencies.js';
import type { Starters } from '../temporal/starters.js';

type Stores = Pick<
  SharedDependencies,
  'items' | 'itemCatalogue' | 'aiJobs' | 'crewExecutions' | 'deliveries' | 'databases' | 'removedItems' | 'connectors'
>;

const idOf = ({ _id }: { _id: string }): string => _id;

/** How the reconciler finds the stale records of each kind, and how it starts their workflow. */
export function listStaleWork(stores: Stores, starters: Starters): Record<StaleKind, StaleWork> {
  return {
    items: staleWork({ records: stores.items.stale, idOf, start: starters.startItem }),
    jobs: staleWork({ records: stores.aiJobs.stale, idOf, start: starters.startJob }),
    crews: staleWork({ records: stores.crewExecutions.stale, idOf, start: starters.startCrew }),
    deliveries: staleWork({
      records: stores.deliveries.stale,
      idOf,
      // A requeued delivery has a running workflow. If the signal to it was lost, the workflow waits for hours.
      start: (delivery) => (delivery.requeued ? starters.retryDelivery(delivery) : starters.startDelivery(delivery)),
    }),
    databases: staleWork({
      records: stores.databases.stale,
      idOf,
      start: ({ _id: database_id, org, name, status }) =>
        status === 'deleting'
          ? starters.startDatabaseDeletion({ org, database_id }, name)
          : starters.startProvisioning({ org, database_id }, name),
    }),
    removals: staleWork({
      records: stores.removedItems.stale,
      idOf: ({ removal }) => removal,
      start: starters.startRemoval,
    }),
    connectors: staleWork({
      records: stores.connectors.stale,
      idOf,
      async start(connector) {
        await starters.applyConnector(connector);
        await stores.connectors.markApplied(connector);
      },
    }),
    index_rows: staleWork({ records: stores.itemCatalogue.rowsDue, idOf, start: starters.startIndexRows }),
  };
}
