import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { Collection } from 'mongodb';
import { newDeliveryId } from '../../domain/ids.js';
import { INDEXES } from '../../storage/indexes.js';
import { inTransaction } from '../../storage/transactions.js';
import type { DeliveryRecord } from '../../storage/webhooks/deliveries.js';
import { type BenchInstance, cpuMs } from './instance.js';
import { runConcurrently } from './measure.js';
import type { CountingReceiver } from './receiver.js';
import { benchDelivery } from './records.js';
import { measureUnits, type Units } from './units.js';

/** A collection with the records and the indexes of deliveries, which nothing but the bare sender reads. */
const COLLECTION = 'bare_deliveries';
const CONCURRENCY = 20;
const INSERT_BATCH = 10_000;

/** The sender of `bare-sender.ts`, in a process of its own. */
export interface BareDrain {
  /** Sends a backlog. */
  backlog(count: number): Promise<Units>;
  /** Sends deliveries that are stored meanwhile, so many in a transaction, as the product's completions are. */
  completions(count: number, group: number): Promise<Units>;
  close(): Promise<void>;
}

/**
 * Starts a sender that has MongoDB and an HTTP client only, as a measure of the machine. It sends the same records with the
 * same indexes, one batch after the other, without signatures, turns, limits of a receiver, rotation and retries.
 */
export async function startBareDrain(instance: BenchInstance, receiver: CountingReceiver): Promise<BareDrain> {
  const { db, mongoClient } = instance.collections;
  const deliveries: Collection<DeliveryRecord> = db.collection(COLLECTION);
  await deliveries.createIndexes([...INDEXES.deliveries!]);
  const sender = await startSender(instance, receiver.url);
  const processorTimes = async () => {
    const { mongod } = await instance.processorTimes();
    return { sender: cpuMs(sender.pid!), mongod: mongod! };
  };
  let next = 0;
  const record = () => benchDelivery(newDeliveryId(new Date()), next++, false);
  const send = (count: number) => sender.send({ count });

  async function measure(count: number, work: () => Promise<unknown>): Promise<Units> {
    const target = receiver.count() + count;
    return measureUnits({ processorTimes }, count, async () => {
      const ended = once(sender, 'message');
      await work();
      await receiver.reached(target);
      await ended;
    });
  }

  const drain: BareDrain = {
    async backlog(count) {
      for (let stored = 0; stored < count; stored += INSERT_BATCH) {
        const size = Math.min(INSERT_BATCH, count - stored);
        await deliveries.insertMany(Array.from({ length: size }, record), { ordered: false });
      }
      return measure(count, async () => send(count));
    },
    completions: (count, group) =>
      measure(count, async () => {
        send(count);
        await runConcurrently(count / group, CONCURRENCY, () =>
          inTransaction(mongoClient, (session) =>
            deliveries.insertMany(Array.from({ length: group }, record), { session }),
          ),
        );
      }),
    async close() {
      sender.disconnect();
      await once(sender, 'exit');
      await deliveries.drop();
    },
  };
  await drain.backlog(500);
  return drain;
}

async function startSender({ env }: BenchInstance, url: string): Promise<ChildProcess> {
  const file = fileURLToPath(new URL('./bare-sender.js', import.meta.url));
  const sender = fork(file, [env.MONGODB_URI!, COLLECTION, url]);
  await once(sender, 'message');
  return sender;
}
