import type { ClientSession, MongoClient } from 'mongodb';
import type { Deliveries } from '../storage/deliveries.js';
import type { DeliveryRecord } from '../storage/records/deliveries.js';
import type { Launcher } from '../temporal/launcher.js';

export interface EndingDependencies {
  mongo: MongoClient;
  deliveries: Deliveries;
  launcher: Launcher;
}

/**
 * Ends a piece of work: its final state and the delivery that announces it are written together or not at all, then the
 * delivery's workflow is started. A crash in between is mended by the activity's retry or by the sweep.
 */
export function createEnding({ mongo, deliveries, launcher }: EndingDependencies) {
  /**
   * @param subject what the delivery announces
   * @param write writes the final state; gives the delivery (null when nobody is to be told), or undefined when it was
   * not its turn to write
   * @returns whether it was
   */
  return async (
    subject: string,
    write: (session: ClientSession, now: Date) => Promise<DeliveryRecord | null | undefined>,
  ): Promise<boolean> => {
    const written = await mongo.withSession((session) =>
      session.withTransaction(async () => {
        const delivery = await write(session, new Date());
        if (delivery) await deliveries.add(delivery, session);
        return delivery;
      }),
    );
    // Nothing written: another's turn, or an earlier attempt of this very activity got as far as here.
    const delivery = written === undefined ? await deliveries.of(subject) : written;
    if (delivery) await launcher.startDelivery(delivery);
    return written !== undefined;
  };
}
