import type { WorkMetrics } from '../domain/metrics.js';
import type { ItemOutcome, ItemRef } from '../domain/work.js';
import { itemDelivery, itemSubject } from '../storage/item-callbacks.js';
import type { Items } from '../storage/items.js';
import type { Registrations } from '../storage/registrations.js';
import { createEnding, type EndingDependencies } from './ending.js';

interface FinishDependencies extends EndingDependencies {
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
  const end = createEnding(deps);
  return async (ref: ItemRef, outcome: ItemOutcome): Promise<boolean> => {
    const ended = await end(itemSubject(ref.item, ref.version), async (session, now) => {
      const item = await items.finish(ref, outcome, now, session);
      if (!item) return undefined;
      const registration = await registrations.get(item.org);
      return registration?.event_types.includes('indexing.status_changed')
        ? itemDelivery(item, outcome, itemSubject(item._id, item.version), now)
        : null;
    });
    if (ended) deps.metrics.itemFinished(outcome.status);
    return ended || (await items.get(ref)) !== null;
  };
}
