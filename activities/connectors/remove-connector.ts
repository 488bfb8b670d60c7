import type { SyncRef } from '../../domain/connectors/workflow-contract.js';
import type { ConnectorRecord, Connectors } from '../../storage/connectors/connectors.js';
import type { ConnectorResources } from '../../storage/connectors/resources.js';
import type { RemovedItems } from '../../storage/content/removed-items.js';
import type { ContentStarters } from '../../temporal/content/starters.js';
import type { DeliveryStarters } from '../../temporal/webhooks/starters.js';
import { withHeartbeat } from '../heartbeat.js';

export interface ItemRemovalDependencies {
  removedItems: Pick<RemovedItems, 'remove'>;
  starters: Pick<ContentStarters, 'startRemoval'> & Pick<DeliveryStarters, 'startDeliveries'>;
}

export interface ConnectorRemovalDependencies extends ItemRemovalDependencies {
  connectors: Pick<Connectors, 'findAnyForOrg' | 'remove'>;
  resources: Pick<ConnectorResources, 'listAny' | 'remove'>;
}

export type ConnectorRemovalActivities = ReturnType<typeof createConnectorRemovalActivities>;

/** Resources removed at a time. */
const BATCH = 100;

/** Deletes the data of a deleted connector. */
export function createConnectorRemovalActivities(deps: ConnectorRemovalDependencies) {
  const { connectors, resources } = deps;
  return {
    /** Deletes some resource records and, when that was requested, their items. @returns false when nothing remains */
    removeRemains: ({ org, connector: id }: SyncRef): Promise<boolean> =>
      withHeartbeat(async () => {
        const connector = await connectors.findAnyForOrg(org, id);
        if (!connector || connector.deleted_at === null) return false;
        const remaining = await resources.listAny({ org, connector: id }, BATCH);
        if (connector.remove_items) await removeItemsOf(deps, connector, remaining);
        await resources.remove(
          org,
          remaining.map(({ _id }) => _id),
        );
        if (remaining.length === 0) await connectors.remove(org, id);
        return remaining.length > 0;
      }),
  };
}

/**
 * Deletes the items of resources. Items that are being indexed end with E2005.
 * @returns the number of resources that had an item
 */
export async function removeItemsOf(
  { removedItems, starters }: ItemRemovalDependencies,
  { org, database_id, collection }: Pick<ConnectorRecord, 'org' | 'database_id' | 'collection'>,
  resources: readonly { item_id: string | null }[],
): Promise<number> {
  const ids = resources.flatMap(({ item_id }) => item_id ?? []);
  const { ref, deliveries } = await removedItems.remove({ org, _id: database_id }, { ids, collection });
  if (ref) await starters.startRemoval(ref);
  await starters.startDeliveries(deliveries);
  return ids.length;
}
