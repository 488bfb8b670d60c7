import type { MongoClient } from 'mongodb';
import { createCompletionGroups, type WriteCompletions } from '../../storage/webhooks/completion-groups.js';
import type { Deliveries } from '../../storage/webhooks/deliveries.js';
import type { DeliveryStarters } from '../../temporal/webhooks/starters.js';

export interface CompletionDependencies {
  mongoClient: MongoClient;
  /** The clock of the database. Tests that skip time pass Temporal's own time. */
  now: () => Date | Promise<Date>;
  deliveries: Pick<Deliveries, 'getByDedupeKey' | 'insert' | 'prepare'>;
  starters: Pick<DeliveryStarters, 'startDelivery'>;
}

/**
 * Completes work: its final state and the delivery that notifies its client are written in one transaction, then the
 * delivery's workflow is started. After a crash in between, the activity's retry or the reconciler starts it. Under load
 * one transaction has the completions of several callers of one organisation.
 * @param write the final states of one or several works
 */
export function createCompletion<Work>(
  { mongoClient, now, deliveries, starters }: CompletionDependencies,
  write: WriteCompletions<Work>,
) {
  const commit = createCompletionGroups({ mongoClient, now, deliveries }, write);
  /**
   * @param org whose work it is. Only work of one organisation is written in one transaction
   * @param dedupeKey of the delivery
   * @returns false when the work had completed before
   */
  return async (org: string, dedupeKey: string, work: Work): Promise<boolean> => {
    const written = await commit(org, work);
    // Undefined: another run, or an earlier attempt of this activity, has completed the work and stored the delivery.
    const delivery = written === undefined ? await deliveries.getByDedupeKey(org, dedupeKey) : written;
    if (delivery) await starters.startDelivery(delivery);
    return written !== undefined;
  };
}
