import type { MongoClient } from 'mongodb';
import { createCompletionGroups, type WriteCompletions } from '../../storage/webhooks/completion-groups.js';
import type { Deliveries } from '../../storage/webhooks/deliveries.js';
import type { DeliveryStarters } from '../../temporal/webhooks/starters.js';

export interface CompletionDependencies {
  mongoClient: MongoClient;
  /** The clock of the database. Tests that skip time pass Temporal's own time. */
  now: () => Date | Promise<Date>;
  deliveries: Pick<Deliveries, 'insert' | 'prepare'>;
  starters: Pick<DeliveryStarters, 'startDelivery'>;
}

/**
 * Completes work: its final state and the delivery that notifies its client are written in one transaction, then the
 * delivery's workflow is started. After a crash in between, the sender attempts the delivery all the same, and the reconciler
 * starts its workflow. Under load one transaction has the completions of several callers of one organisation.
 * @param write the final states of one or several works
 */
export function createCompletion<Work>(
  { mongoClient, now, deliveries, starters }: CompletionDependencies,
  write: WriteCompletions<Work>,
) {
  const commit = createCompletionGroups({ mongoClient, now, deliveries }, write);
  /**
   * @param org whose work it is. Only work of one organisation is written in one transaction
   * @returns false when another run, or an earlier attempt of this activity, had completed the work before
   */
  return async (org: string, work: Work): Promise<boolean> => {
    const delivery = await commit(org, work);
    if (delivery) await starters.startDelivery(delivery);
    return delivery !== undefined;
  };
}
