/** How items end, one or many together. */
import type { MongoClient } from 'mongodb';
import { type FinalIndexingStatus, INDEXING_STATUS_TABLE } from '../../domain/content/states.js';
import type { ItemOutcome, ItemRef, RemovalRef } from '../../domain/content/workflow-contract.js';
import type { WorkMetrics } from '../../domain/metrics.js';
import { isFinalState } from '../../domain/state-machine.js';
import {
  createItemNotifier,
  type ItemNotifierDependencies,
  itemDedupeKey,
} from '../../storage/content/item-delivery.js';
import type { ItemRecord, Items } from '../../storage/content/items.js';
import type { OutdatedVersions } from '../../storage/content/outdated-versions.js';
import { inTransaction } from '../../storage/transactions.js';
import type { Deliveries, DeliveryRecord } from '../../storage/webhooks/deliveries.js';
import type { DeliveryStarters } from '../../temporal/webhooks/starters.js';
import type { ClearOutdated } from './clear-items.js';

export interface EndItemsDependencies extends ItemNotifierDependencies {
  mongoClient: MongoClient;
  items: Pick<Items, 'end'>;
  outdatedVersions: OutdatedVersions;
  deliveries: Pick<Deliveries, 'addAll' | 'listUnattemptedByKeys'>;
  starters: Pick<DeliveryStarters, 'startDeliveries'>;
  metrics: Pick<WorkMetrics, 'itemFinished'>;
  clearOutdated: ClearOutdated;
  /** The time of the database: the sender compares it with the times of deliveries. */
  now: () => Date;
}

/**
 * Ends versions of items of one organisation with the same outcome: their status and the deliveries that notify the
 * organisation's webhook are written in one transaction. Then the deliveries are started, and the versions that are not served
 * any more are cleared, or those that could not replace the served ones. After a crash in between, `announceEnded` and the
 * reconciler do it.
 * @returns a function that returns the keys of the items that were in progress
 */
export function createEndItems(deps: EndItemsDependencies) {
  const { mongoClient, items, outdatedVersions, starters, metrics } = deps;
  const notify = createItemNotifier(deps);
  return async (versions: readonly ItemRef[], outcome: ItemOutcome): Promise<ReadonlySet<string>> => {
    let added: DeliveryRecord[] = [];
    let outdated: RemovalRef | null = null;
    const ended = await inTransaction(mongoClient, async (tx) => {
      const now = deps.now();
      [added, outdated] = [[], null];
      const before = await items.end(versions, outcome, now, tx);
      if (before.length === 0) return before;
      outdated = await outdatedVersions.add(before, { completed: outcome.status === 'completed' }, now, tx);
      added = await notify(before, outcome, now, tx);
      return before;
    });
    for (const { batch } of ended) metrics.itemFinished(outcome.status, batch);
    await starters.startDeliveries(added);
    await deps.clearOutdated(outdated);
    return new Set(ended.map(({ _id }) => _id));
  };
}

/** Starts the deliveries of items that a run has ended before it was lost. */
export async function announceEnded(
  { deliveries, starters }: Pick<EndItemsDependencies, 'deliveries' | 'starters'>,
  ended: readonly Pick<ItemRecord, '_id' | 'org' | 'version'>[],
): Promise<void> {
  if (ended.length === 0) return;
  await starters.startDeliveries(await deliveries.listUnattemptedByKeys(ended[0]!.org, ended.map(itemDedupeKey)));
}

export function hasEnded({ indexing_status }: Pick<ItemRecord, 'indexing_status'>): boolean {
  return isFinalState(INDEXING_STATUS_TABLE, indexing_status);
}

/** @param item that has ended */
export function storedOutcome({ indexing_status, error_code, error_message }: ItemRecord): ItemOutcome {
  const status = indexing_status as FinalIndexingStatus;
  return error_code === null || error_message === null ? { status } : { status, error_code, error_message };
}
