/** How items end: one on its own, or those of a group together. */
import type { MongoClient } from 'mongodb';
import { itemDedupeKey, itemDelivery } from '../../domain/content/item-delivery.js';
import type { ItemOutcome, ItemRef, RemovalRef } from '../../domain/content/workflow-contract.js';
import type { WorkMetrics } from '../../domain/metrics.js';
import type { ItemGroups } from '../../storage/content/item-groups.js';
import type { ItemRecord, Items } from '../../storage/content/items.js';
import type { OutdatedVersions } from '../../storage/content/outdated-versions.js';
import { inTransaction } from '../../storage/transactions.js';
import type { Deliveries, DeliveryRecord } from '../../storage/webhooks/deliveries.js';
import type { Registrations } from '../../storage/webhooks/registrations.js';
import type { DeliveryStarters } from '../../temporal/webhooks/starters.js';
import { type CompletionDependencies, createCompletion } from '../webhooks/completion.js';
import type { ClearOutdated } from './clear-items.js';

export interface FinishItemDependencies extends CompletionDependencies {
  items: Pick<Items, 'finish' | 'getByRef'>;
  outdatedVersions: OutdatedVersions;
  registrations: Pick<Registrations, 'findForOrg'>;
  clearOutdated: ClearOutdated;
  metrics: Pick<WorkMetrics, 'itemFinished'>;
}

/**
 * Stores the outcome of an item, together with the delivery that notifies the organisation's webhook. Then the versions that
 * are not served any more are cleared, or the version that could not replace the served one.
 * @returns a function that returns false when this version of the item was replaced or deleted
 */
export function createFinishItem(deps: FinishItemDependencies) {
  const { items, outdatedVersions, registrations, metrics } = deps;
  const complete = createCompletion(deps);
  return async (ref: ItemRef, outcome: ItemOutcome): Promise<boolean> => {
    let outdated: RemovalRef | null = null;
    let batch = '';
    const finished = await complete(ref.org, itemDedupeKey(ref.item, ref.version), async (tx, now) => {
      const item = await items.finish(ref, outcome, now, tx);
      outdated = null;
      if (!item) return undefined;
      batch = item.batch;
      outdated = await outdatedVersions.add([item], { completed: outcome.status === 'completed' }, now, tx);
      const registration = await registrations.findForOrg(item.org);
      return registration?.event_types.includes('indexing.status_changed')
        ? itemDelivery(item, outcome, itemDedupeKey(item._id, item.version), now)
        : null;
    });
    if (finished) metrics.itemFinished(outcome.status, batch);
    await deps.clearOutdated(outdated);
    return finished || (await items.getByRef(ref)) !== null;
  };
}

export interface CompleteItemsDependencies {
  mongoClient: MongoClient;
  itemGroups: Pick<ItemGroups, 'complete'>;
  outdatedVersions: OutdatedVersions;
  registrations: Pick<Registrations, 'findForOrg'>;
  deliveries: Pick<Deliveries, 'addAll'>;
  starters: Pick<DeliveryStarters, 'startDeliveries'>;
  metrics: Pick<WorkMetrics, 'itemFinished'>;
  clearOutdated: ClearOutdated;
}

/**
 * Completes items of one batch: their status and the deliveries that notify the organisation's webhook are written in one
 * transaction. Then the deliveries are started, and the versions before are cleared; after a crash in between, the activity's
 * retry or the reconciler does it.
 * @returns a function that returns the items that were in progress
 */
export function createCompleteItems(deps: CompleteItemsDependencies) {
  const { mongoClient, itemGroups, outdatedVersions, registrations, deliveries, starters, metrics } = deps;
  return async (items: readonly ItemRecord[]): Promise<ItemRecord[]> => {
    let added: DeliveryRecord[] = [];
    let outdated: RemovalRef | null = null;
    const completed = await inTransaction(mongoClient, async (tx) => {
      const now = new Date();
      [added, outdated] = [[], null];
      const finished = await itemGroups.complete(items, now, tx);
      if (finished.length === 0) return finished;
      outdated = await outdatedVersions.add(finished, { completed: true }, now, tx);
      const registration = await registrations.findForOrg(finished[0]!.org);
      if (registration?.event_types.includes('indexing.status_changed')) {
        const all = finished.map((item) =>
          itemDelivery(item, { status: 'completed' }, itemDedupeKey(item._id, item.version), now),
        );
        added = await deliveries.addAll(all, tx);
      }
      return finished;
    });
    for (const { batch } of completed) metrics.itemFinished('completed', batch);
    await starters.startDeliveries(added);
    await deps.clearOutdated(outdated);
    return completed;
  };
}
