import { setTimeout as wait } from 'node:timers/promises';
import type { Client } from '@temporalio/client';
import { createCompletion, inTurn } from '../../activities/webhooks/completion.js';
import { newDeliveryId } from '../../domain/ids.js';
import { createLoadSwitch } from '../../domain/webhooks/load-switch.js';
import { inTransaction } from '../../storage/transactions.js';
import { createDeliveries } from '../../storage/webhooks/deliveries.js';
import type { NewDelivery } from '../../storage/webhooks/new-delivery.js';
import { createStarters } from '../../temporal/starters.js';
import type { BenchInstance } from './instance.js';
import { runConcurrently } from './measure.js';
import { benchDelivery } from './records.js';

const CONCURRENCY = 20;
const INSERT_BATCH = 10_000;
/** A backlog is due when it is stored. Storing takes less for each delivery, and less to begin with. */
const STORE_MS = 1;
const BEGIN_MS = 2_000;

export type Completions = ReturnType<typeof createCompletions>;

/** Stores and starts deliveries of an organisation as the end of work does. */
export function createCompletions({ collections }: BenchInstance, temporal: Client, org = 'bench') {
  const starters = createStarters(temporal);
  const stores = {
    /** Each delivery has a workflow. */
    followed: createDeliveries(collections, createLoadSwitch({ perSecond: 100_000, perTransaction: 100_000 })),
    /** As the product does it. */
    product: createDeliveries(collections),
  };
  const complete = createCompletion({ ...collections, deliveries: stores.product, starters }, inTurn);
  let next = 0;
  let due = new Date();

  function newDelivery(): NewDelivery {
    const _id = newDeliveryId(new Date());
    const { payload, indexing_status } = benchDelivery(_id, next++);
    return {
      _id,
      org,
      dedupe_key: `item/${_id}/1`,
      event_type: 'indexing.status_changed',
      doc_id: `doc-${next}`,
      indexing_status: indexing_status!,
      payload: payload!,
      now: new Date(),
    };
  }

  async function one(store: keyof typeof stores, group: number): Promise<string[]> {
    const added = Array.from({ length: group }, newDelivery);
    const records = await inTransaction(collections.mongoClient, (tx) => stores[store].addAll(added, tx));
    await starters.startDeliveries(records);
    return records.map(({ _id }) => _id);
  }

  return {
    /** Stores so many deliveries in one transaction, and starts them. @returns their ids */
    one,
    /** Stores deliveries in transactions of so many, side by side, and starts them. */
    many: (store: keyof typeof stores, count: number, group: number) =>
      runConcurrently(count / group, CONCURRENCY, () => one(store, group)),
    /** Stores deliveries that are all due at one time, a moment after all are stored. `backlogDue` waits for it. */
    async backlog(count: number): Promise<void> {
      due = new Date(Date.now() + BEGIN_MS + STORE_MS * count);
      for (let stored = 0; stored < count; stored += INSERT_BATCH) {
        const size = Math.min(INSERT_BATCH, count - stored);
        const records = Array.from({ length: size }, () => {
          return { ...benchDelivery(newDeliveryId(new Date()), next++, false, org), next_attempt_at: due };
        });
        await collections.deliveries.insertMany(records, { ordered: false });
      }
      if (due.getTime() < Date.now()) throw new Error('the backlog was due before all of it was stored');
    },
    backlogDue: () => wait(due.getTime() - Date.now()),
    /** Completes so many pieces of work side by side, each as if it were alone, as the activities that end work do. */
    each: (count: number) =>
      runConcurrently(count, CONCURRENCY, () => {
        const delivery = newDelivery();
        return complete(delivery.org, async () => delivery);
      }),
  };
}
