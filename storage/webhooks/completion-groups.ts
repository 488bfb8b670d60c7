import { AsyncResource } from 'node:async_hooks';
import type { ClientSession, MongoClient } from 'mongodb';
import { settledWithin } from '../../domain/shared-calls.js';
import { inTransaction } from '../transactions.js';
import type { Deliveries, DeliveryRecord } from './deliveries.js';
import type { NewDelivery } from './new-delivery.js';

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

/** What was stored: the record of the delivery, or what the write returned instead. */
export type StoredCompletion = DeliveryRecord | null | undefined;

interface Waiting<Work> {
  org: string;
  work: Work;
  prepare(delivery: NewDelivery): DeliveryRecord;
  resolve(stored: StoredCompletion | PromiseLike<StoredCompletion>): void;
}

/** Transactions at the same time: while one waits for the disk, the next one writes. */
const MAX_RUNNING = 2;
/** Completions in one transaction. More would hold their records for longer than a commit takes. */
const MAX_GROUP = 50;

/** A transaction that takes longer, because it is repeated, does not count as running any more. */
const MAX_TURN_MS = 1_000;

/** The transaction of a group was given up: each of its completions continues alone. */
class GroupGivenUp extends Error {}

/**
 * Commits completions of one organisation that arrive while others are being committed in one transaction, because a commit
 * costs more than what it commits. Organisations do not share a transaction: on a sharded cluster it would span shards. None waits for others to arrive. A completion that fails, or conflicts with another change, harms only
 * itself: then each of its group has a transaction of its own.
 * @returns a function that resolves after the commit
 */
export function createCompletionGroups<Work>(
  {
    mongoClient,
    deliveries,
    now: clock,
  }: {
    mongoClient: MongoClient;
    deliveries: Pick<Deliveries, 'insert' | 'prepare'>;
    now: () => Date | Promise<Date>;
  },
  write: WriteCompletions<Work>,
): (org: string, work: Work) => Promise<StoredCompletion> {
  let waiting: Waiting<Work>[] = [];
  let running = 0;

  return (org, work) =>
    new Promise((resolve) => {
      // In the caller's context: a delivery keeps the trace of its own work.
      const prepare = AsyncResource.bind((delivery: NewDelivery) => deliveries.prepare([delivery])[0]!);
      waiting.push({ org, work, prepare, resolve });
      startNext();
    });

  function startNext(): void {
    while (running < MAX_RUNNING && waiting.length > 0) {
      running += 1;
      const committed = commit(takeGroup());
      void settledWithin(committed, MAX_TURN_MS).then(() => {
        running -= 1;
        startNext();
      });
    }
  }

  /** @returns those of the organisation that has waited longest */
  function takeGroup(): Waiting<Work>[] {
    const { org } = waiting[0]!;
    const group = waiting.filter((each) => each.org === org).slice(0, MAX_GROUP);
    const taken = new Set(group);
    waiting = waiting.filter((each) => !taken.has(each));
    return group;
  }

  /** Settles every completion of the group, or leaves that to a transaction of its own. */
  async function commit(group: readonly Waiting<Work>[]): Promise<unknown> {
    const [first, ...others] = group;
    const alone = (completion: Waiting<Work>) => {
      const own = inTransaction(mongoClient, (tx) => store([completion], tx).then(([stored]) => stored));
      completion.resolve(own);
      return own;
    };
    if (others.length === 0) return alone(first!);
    const stored = await commitTogether(group);
    group.forEach((completion, n) => {
      if (stored) completion.resolve(stored[n]);
      else alone(completion);
    });
    return stored;
  }

  /** @returns null when nothing was stored, or it is not known whether it was */
  async function commitTogether(group: readonly Waiting<Work>[]): Promise<StoredCompletion[] | null> {
    try {
      return await inTransaction(mongoClient, (tx) =>
        store(group, tx).catch((error) => {
          // Without MongoDB's label, so that the driver does not repeat the whole group.
          throw new GroupGivenUp('one of the completions failed', { cause: error });
        }),
      );
    } catch {
      return null;
    }
  }

  async function store(group: readonly Waiting<Work>[], tx: ClientSession): Promise<StoredCompletion[]> {
    const works = group.map(({ work }) => work);
    const written = await write(works, tx, await clock());
    const stored = written.map((delivery, n) => delivery && group[n]!.prepare(delivery));
    const added = stored.filter((delivery) => delivery != null);
    await deliveries.insert(added, tx);
    return stored;
  }
}
