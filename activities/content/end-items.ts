/** How items end, one or many together. */
import type { MongoClient } from 'mongodb';
import type { FinalIndexingStatus } from '../../domain/content/states.js';
import type { ItemOutcome, ItemRef } from '../../domain/content/workflow-contract.js';
import type { WorkMetrics } from '../../domain/metrics.js';
import { createItemNotifier, type ItemNotifierDependencies } from '../../storage/content/item-delivery.js';
import type { ItemRecord, Items } from '../../storage/content/items.js';
import type { RemovedItems } from '../../storage/content/removed-items.js';
import { inTransaction } from '../../storage/transactions.js';
import type { DeliveryStarters } from '../../temporal/webhooks/starters.js';
import type { ClearOutdated } from './clear-items.js';

export interface EndItemsDependencies extends ItemNotifierDependencies {
  mongoClient: MongoClient;
  items: Pick<Items, 'end'>;
  removedItems: Pick<RemovedItems, 'addOutdated'>;
  starters: Pick<DeliveryStarters, 'startDeliveries'>;
  metrics: Pick<WorkMetrics, 'itemFinished'>;
  clearOutdated: ClearOutdated;
  /** The time of the database: the sender compares it with the times of deliveries. */
  now: () => Date;
}

/**
 * Ends versions of items of one organisation with the same outcome: their status and the deliveries that notify the
 * organisation's webhook are written in one transaction. Then the deliveries are started, and the versions that are not served
 * any more are cleared, or those that could not replace the served ones. After a crash in between, the sender still sends the
 * deliveries, and the reconciler does the rest.
 * @returns a function that returns the keys of the items that were in progress
 */
export function createEndItems(deps: EndItemsDependencies) {
  const { mongoClient, items, removedItems, starters, metrics } = deps;
  const notify = createItemNotifier(deps);
  return async (versions: readonly ItemRef[], outcome: ItemOutcome): Promise<ReadonlySet<string>> => {
    const { ended, outdated, added } = await inTransaction(mongoClient, async (tx) => {
      const now = deps.now();
      const before = await items.end(versions, outcome, now, tx);
      return {
        ended: before,
        outdated: await removedItems.addOutdated(before, outcome.status === 'completed', now, tx),
        added: await notify(before, outcome, now, tx),
      };
    });
    for (const { batch } of ended) metrics.itemFinished(outcome.status, batch);
    await starters.startDeliveries(added);
    await deps.clearOutdated(outdated);
    return new Set(ended.map(({ _id }) => _id));
  };
}

/** @param item that has ended */
export function storedOutcome({ indexing_status, error_code, error_message }: ItemRecord): ItemOutcome {
  const status = indexing_status as FinalIndexingStatus;
  return error_code === null || error_message === null ? { status } : { status, error_code, error_message };
}
