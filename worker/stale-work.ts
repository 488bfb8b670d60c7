import { type StaleWork, staleWork } from '../activities/reconcile.js';
import type { ReconcileReport } from '../domain/workflow-contract.js';
import type { SharedDependencies } from '../runtime/dependencies.js';
import type { Starters } from '../temporal/starters.js';

type Stores = Pick<
  SharedDependencies,
  'items' | 'itemCatalogue' | 'aiJobs' | 'crewExecutions' | 'deliveries' | 'databases' | 'removedItems' | 'connectors'
>;

/** For each count in the reconciler's report: how to find the stale records, and how to start their workflow. */
export function listStaleWork(stores: Stores, starters: Starters): StaleWork<keyof ReconcileReport>[] {
  return [
    staleWork({ name: 'items', takeStale: stores.items.takeStale, idOf: ({ _id }) => _id, start: starters.startItem }),
    staleWork({ name: 'jobs', takeStale: stores.aiJobs.takeStale, idOf: ({ _id }) => _id, start: starters.startJob }),
    staleWork({
      name: 'crews',
      takeStale: stores.crewExecutions.takeStale,
      idOf: ({ _id }) => _id,
      start: starters.startCrew,
    }),
    staleWork({
      name: 'deliveries',
      takeStale: stores.deliveries.takeStale,
      idOf: ({ _id }) => _id,
      // A requeued delivery has a running workflow. If the signal to it was lost, the workflow waits for hours.
      start: (delivery) => (delivery.requeued ? starters.retryDelivery(delivery) : starters.startDelivery(delivery)),
    }),
    staleWork({
      name: 'databases',
      takeStale: stores.databases.takeStale,
      idOf: ({ _id }) => _id,
      start: ({ _id: database_id, org, name, status }) =>
        status === 'deleting'
          ? starters.startDatabaseDeletion({ org, database_id }, name)
          : starters.startProvisioning({ org, database_id }, name),
    }),
    staleWork({
      name: 'removals',
      takeStale: stores.removedItems.takeStale,
      idOf: ({ removal }) => removal,
      start: starters.startRemoval,
    }),
    staleWork({
      name: 'connectors',
      takeStale: stores.connectors.takeStale,
      idOf: ({ _id }) => _id,
      async start(connector) {
        await starters.applyConnector(connector);
        await stores.connectors.markApplied(connector);
      },
    }),
    staleWork({
      name: 'index_rows',
      takeStale: stores.itemCatalogue.takeRowsDue,
      idOf: ({ _id }) => _id,
      start: starters.startIndexRows,
    }),
  ];
}
