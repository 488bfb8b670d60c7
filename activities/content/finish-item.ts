import { itemDedupeKey, itemDelivery } from '../../domain/content/item-delivery.js';
import type { ItemOutcome, ItemRef, RemovalRef } from '../../domain/content/workflow-contract.js';
import type { WorkMetrics } from '../../domain/metrics.js';
import type { Items } from '../../storage/content/items.js';
import type { OutdatedVersions } from '../../storage/content/outdated-versions.js';
import type { Registrations } from '../../storage/webhooks/registrations.js';
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
    const finished = await complete(itemDedupeKey(ref.item, ref.version), async (tx, now) => {
      const item = await items.finish(ref, outcome, now, tx);
      outdated = null;
      if (!item) return undefined;
      outdated = await outdatedVersions.add([item], { completed: outcome.status === 'completed' }, now, tx);
      const registration = await registrations.findForOrg(item.org);
      return registration?.event_types.includes('indexing.status_changed')
        ? itemDelivery(item, outcome, itemDedupeKey(item._id, item.version), now)
        : null;
    });
    if (finished) metrics.itemFinished(outcome.status);
    await deps.clearOutdated(outdated);
    return finished || (await items.getByRef(ref)) !== null;
  };
}
