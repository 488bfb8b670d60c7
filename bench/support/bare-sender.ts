/** A process that sends deliveries with MongoDB and an HTTP client only; `bare-drain.ts` starts it. */
import { randomBytes } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import { type Collection, type Filter, MongoClient, type UpdateFilter } from 'mongodb';
import { Agent, request } from 'undici';
import { QUEUE_INDEX } from '../../storage/indexes.js';
import type { DeliveryRecord } from '../../storage/webhooks/deliveries.js';

const BATCH = 100;
const CLAIM_MS = 30_000;
const RETENTION_MS = 30 * 24 * 60 * 60 * 1000;
const EMPTY_MS = 2;

const [uri, collection, url] = process.argv.slice(2) as [string, string, string];
const mongoClient = new MongoClient(uri, { writeConcern: { w: 'majority', journal: true } });
const deliveries: Collection<DeliveryRecord> = mongoClient.db().collection(collection);
const agent = new Agent({ pipelining: 1 });

process.once('disconnect', async () => {
  await agent.close();
  await mongoClient.close();
});
process.on('message', async ({ count }: { count: number }) => {
  for (let sent = 0; sent < count; ) sent += await sendBatch();
  process.send?.({ sent: count });
});
process.send?.({ ready: true });

/** @returns the number of deliveries that were sent */
async function sendBatch(): Promise<number> {
  const now = new Date();
  const due: Filter<DeliveryRecord> = { receiver: 'bench', next_attempt_at: { $gt: new Date(0), $lte: now } };
  const batch = await deliveries.find(due, { hint: QUEUE_INDEX, limit: BATCH, batchSize: BATCH }).toArray();
  if (batch.length === 0) {
    await wait(EMPTY_MS);
    return 0;
  }
  const claim = randomBytes(9).toString('base64url');
  const until = new Date(now.getTime() + CLAIM_MS);
  const ids = batch.map(({ _id }) => _id);
  const claimed = { status: 'sweeping' as const, claim, next_attempt_at: until, updated_at: now };
  await deliveries.updateMany({ _id: { $in: ids }, status: 'pending' }, { $set: claimed, $inc: { attempts: 1 } });
  const statuses = await Promise.all(batch.map(({ payload }) => send(JSON.stringify(payload))));
  const end = new Date();
  await deliveries.bulkWrite(
    batch.map((delivery, n) => ({
      updateOne: {
        filter: { _id: delivery._id, claim },
        update: delivered(statuses[n]!, now, end),
      },
    })),
    { ordered: false },
  );
  return batch.length;
}

async function send(body: string): Promise<number> {
  const headers = { 'content-type': 'application/json' };
  const response = await request(url, { method: 'POST', headers, body, dispatcher: agent });
  await response.body.dump();
  return response.statusCode;
}

function delivered(status_code: number, at: Date, end: Date): UpdateFilter<DeliveryRecord> {
  const entry = { at, status_code, duration_ms: end.getTime() - at.getTime(), error: null, answer: '' };
  const expires_at = new Date(end.getTime() + RETENTION_MS);
  return {
    $set: { status: 'delivered', next_attempt_at: null, expires_at, url, updated_at: end },
    $push: { attempt_log: entry },
  };
}
