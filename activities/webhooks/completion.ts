import type { ClientSession, MongoClient } from 'mongodb';
import { currentTraceparent } from '../../domain/trace-context.js';
import { createSharedCommits } from '../../storage/shared-commits.js';
import type { Deliveries, DeliveryRecord } from '../../storage/webhooks/deliveries.js';
import type { NewDelivery } from '../../storage/webhooks/new-delivery.js';
import type { DeliveryStarters } from '../../temporal/webhooks/starters.js';

export interface CompletionDependencies {
  mongoClient: MongoClient;
  /** The clock of the database. Tests that skip time pass Temporal's own time. */
  now: () => Date | Promise<Date>;
  deliveries: Pick<Deliveries, 'addAll'>;
  starters: Pick<DeliveryStarters, 'startDelivery'>;
}

/** The delivery that notifies the client, null when there is no receiver, or undefined when the work had completed before. */
type Written = NewDelivery | null | undefined;

/** Writes the final states of works of one organisation. May run several times. @returns for each work, in the same order */
export type WriteCompletions<Work> = (works: readonly Work[], tx: ClientSession, now: Date) => Promise<Written[]>;

/** Writes the final state of one work. May run several times. */
export type CompletionWrite = (tx: ClientSession, now: Date) => Promise<Written>;

/** Works that write their own final states, one after the other, because the operations of a transaction have an order. */
export const inTurn: WriteCompletions<CompletionWrite> = async (writes, tx, now) => {
  const written: Written[] = [];
  for (const write of writes) written.push(await write(tx, now));
  return written;
};

interface Completion<Work> {
  org: string;
  work: Work;
  /** Of the caller: a group is committed in the context of one of its callers. */
  trace: string | null;
}

/**
 * Completes work: its final state and the delivery that notifies its client are written in one transaction, then the
 * delivery's workflow is started. After a crash in between, the sender attempts the delivery all the same, and the reconciler
 * starts its workflow. Under load one transaction has the completions of several callers of one organisation. Organisations share
 * none: on a sharded cluster it would span shards.
 * @param write the final states of one or several works
 */
export function createCompletion<Work>(
  { mongoClient, now, deliveries, starters }: CompletionDependencies,
  write: WriteCompletions<Work>,
) {
  const commit = createSharedCommits<Completion<Work>, DeliveryRecord | null | undefined>(
    mongoClient,
    ({ org }) => org,
    async (completions, tx) => {
      const works = completions.map(({ work }) => work);
      const written = await write(works, tx, await now());
      const added = written.flatMap((delivery, n) => (delivery ? [{ ...delivery, trace: completions[n]!.trace }] : []));
      const stored = await deliveries.addAll(added, tx);
      return written.map((delivery) => delivery && stored.shift());
    },
    // While one waits for the disk, the next one writes.
    2,
  );
  /**
   * @param org whose work it is
   * @returns false when another run, or an earlier attempt of this activity, had completed the work before
   */
  return async (org: string, work: Work): Promise<boolean> => {
    const delivery = await commit({ org, work, trace: currentTraceparent() ?? null });
    if (delivery) await starters.startDelivery(delivery);
    return delivery !== undefined;
  };
}
