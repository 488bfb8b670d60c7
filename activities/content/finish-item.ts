import { itemDedupeKey, itemDelivery } from '../../domain/content/item-delivery.js';
import type { ItemOutcome, ItemRef } from '../../domain/content/workflow-contract.js';
import type { WorkMetrics } from '../../domain/metrics.js';
import type { Items } from '../../storage/content/items.js';
import type { Registrations } from '../../storage/webhooks/registrations.js';
import { type CompletionDependencies, createCompletion } from '../webhooks/completion.js';

export interface FinishItemDependencies extends CompletionDependencies {
  items: Pick<Items, 'finish' | 'getByRef'>;
  registrations: Pick<Registrations, 'findForOrg'>;
  metrics: Pick<WorkMetrics, 'itemFinished'>;
}

/**
 * Stores the outcome of an item, together with the delivery that notifies the organisation's webhook.
 * @returns a function that returns false when this version of the item was replaced or deleted
 */
export function createFinishItem(deps: FinishItemDependencies) {
  const { items, registrations, metrics } = deps;
  const complete = createCompletion(deps);
  return async (ref: ItemRef, outcome: ItemOutcome): Promise<boolean> => {
    const finished = await complete(itemDedupeKey(ref.item, ref.version), async (tx, now) => {
      const item = await items.finish(ref, outcome, now, tx);
      if (!item) return undefined;
      const registration = await registrations.findForOrg(item.org);
      return registration?.event_types.includes('indexing.status_changed')
        ? itemDelivery(item, outcome, itemDedupeKey(item._id, item.version), now)
        : null;
    });
    if (finished) metrics.itemFinished(outcome.status);
    return finished || (await items.getByRef(ref)) !== null;
  };
}
