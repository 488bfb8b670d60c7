import type { ClientSession, MongoClient } from 'mongodb';
import type { NewDelivery } from '../../domain/webhooks/deliveries.js';
import { inTransaction } from '../../storage/transactions.js';
import type { Deliveries } from '../../storage/webhooks/deliveries.js';
import type { DeliveryStarters } from '../../temporal/webhooks/starters.js';

export interface CompletionDependencies {
  mongoClient: MongoClient;
  deliveries: Pick<Deliveries, 'add' | 'getByDedupeKey'>;
  starters: Pick<DeliveryStarters, 'startDelivery'>;
}

/**
 * Completes work: its final state and the delivery that notifies its client are written in one transaction, then the
 * delivery's workflow is started. After a crash in between, the activity's retry or the reconciler starts it.
 */
export function createCompletion({ mongoClient, deliveries, starters }: CompletionDependencies) {
  /**
   * @param dedupeKey of the delivery
   * @param write writes the final state; returns the delivery, null when there is no receiver, or undefined when the
   * work had completed before
   * @returns false when the work had completed before
   */
  return async (
    dedupeKey: string,
    write: (tx: ClientSession, now: Date) => Promise<NewDelivery | null | undefined>,
  ): Promise<boolean> => {
    const written = await inTransaction(mongoClient, async (tx) => {
      const delivery = await write(tx, new Date());
      return delivery && deliveries.add(delivery, tx);
    });
    // Undefined: another run, or an earlier attempt of this activity, has completed the work and stored the delivery.
    const delivery = written === undefined ? await deliveries.getByDedupeKey(dedupeKey) : written;
    if (delivery) await starters.startDelivery(delivery);
    return written !== undefined;
  };
}
