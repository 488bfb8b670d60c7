import { newDeliveryId } from '../../../domain/ids.js';
import type { DeliveryRecord } from '../../../storage/webhooks/deliveries.js';
import { createStarters } from '../../../temporal/starters.js';
import { eventually } from '../eventually.js';
import { withDb } from '../product.js';
import { deliveryRecord } from '../records.js';
import { noteOf, type Recording } from './recording.js';

const DATABASE = 'webhooks';

/** Records the ways of deliveries. */
export async function recordWebhooks(recording: Recording): Promise<void> {
  const { api, org, receiver, record } = recording;
  await api.createDatabase(DATABASE);
  await api.post('/webhooks/indexing', { url: receiver.url });
  receiver.respond = ({ json }) => ({ status: json.id === 'well' ? 204 : json.id === 'gone' ? 410 : 500 });
  const notes = ['well', 'retried', 'gone'].map((id) => ({ id, text: noteOf(id) }));
  await api.ingest({ database: DATABASE, memories: JSON.stringify(notes) });

  const deliveryOf = (id: string) =>
    eventually(`delivery of ${id}`, async () => {
      const { deliveries } = (await api.get('/webhooks/indexing/deliveries?limit=100')).body.data;
      return deliveries.find((delivery: { doc_id: string }) => delivery.doc_id === id)?.delivery_id as string;
    });
  await record('deliver-webhook-delivered', `delivery/${await deliveryOf('well')}`);
  await record('deliver-webhook-permanently-failed', `delivery/${await deliveryOf('gone')}`);

  const retried = await deliveryOf('retried');
  await eventually('two failed attempts', async () => {
    const { data } = (await api.get(`/webhooks/indexing/deliveries/${retried}`)).body;
    return data.status === 'failed' && data.attempts === 2;
  });
  receiver.respond = () => ({ status: 204 });
  await api.post(`/webhooks/indexing/deliveries/${retried}/retry`);
  await record('deliver-webhook-retried-by-a-person', `delivery/${retried}`);
  const { replay_id } = (await api.post('/webhooks/indexing/deliveries/retry', { doc_id: 'gone' })).body.data;
  await record('replay-deliveries', `replay/${org}/${replay_id}`);
  await recordBacklogs(recording);
}

/** Records a backlog that waits, and one that has ended. */
async function recordBacklogs({ org, product, temporal, record }: Recording): Promise<void> {
  const { startBacklog } = createStarters(temporal);
  const delivery = deliveryRecord({ _id: newDeliveryId(new Date()), org, now: new Date(), has_workflow: false });
  const id = `delivery-backlog/${org}/${delivery.event_type}`;
  await startBacklog(delivery);
  await record('follow-backlog-ended', id);
  const later = new Date(Date.now() + 60 * 60 * 1000);
  await withDb(product.mongodbUri, (db) =>
    db
      .collection<DeliveryRecord>('deliveries')
      .insertOne({ ...delivery, status: 'failed', next_attempt_at: later, check_at: null }),
  );
  await startBacklog(delivery);
  await eventually('it waits', async () => {
    const { historyLength } = await temporal.workflow.getHandle(id).describe();
    return historyLength > 8;
  });
  await record('follow-backlog-waiting', id, { open: true });
}
