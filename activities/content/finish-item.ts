import { itemDedupeKey, itemDelivery } from '../../domain/content/item-delivery.js';
import type { ItemOutcome, ItemRef } from '../../domain/content/workflow-contract.js';
import type { WorkMetrics } from '../../domain/metrics.js';
import type { Items } from '../../storage/content/items.js';
import type { Registrations } from '../../storage/webhooks/registrations.js';
import { type CompletionDependencies, createCompletion } from '../webhooks/completion.js';

interface FinishDependencies extends CompletionDependencies {
  items: Items;
  registrations: Registrations;
  metrics: WorkMetrics;
}

/**
 * Ends an item, and announces it where a webhook is registered.
 * @returns a function that gives false when the version is no longer the item's
 */
export function createFinish(deps: FinishDependencies) {
  const { items, registrations } = deps;
  const complete = createCompletion(deps);
  return async (ref: ItemRef, outcome: ItemOutcome): Promise<boolean> => {
    const ended = await complete(itemDedupeKey(ref.item, ref.version), async (session, now) => {
      const item = await items.finish(ref, outcome, now, session);
      if (!item) return undefined;
      const registration = await registrations.findForOrg(item.org);
      return registration?.event_types.includes('indexing.status_changed')
        ? itemDelivery(item, outcome, itemDedupeKey(item._id, item.version), now)
        : null;
    });
    if (ended) deps.metrics.itemFinished(outcome.status);
    return ended || (await items.getByRef(ref)) !== null;
  };
}
