import { beforeAll, describe, expect, test } from '@jest/globals';
import { Webhook } from 'standardwebhooks';
import { timeOfId } from '../../domain/ids.js';
import { createClient } from '../support/client.js';
import { createCrewClient } from '../support/crew-client.js';
import { clientDuringTests, receiverDuringTests } from '../support/during-tests.js';
import { eventually } from '../support/eventually.js';
import { createJobClient } from '../support/job-client.js';
import { clientOf } from '../support/organisation.js';
import { createMerchant } from '../support/payments.js';
import { makeKey, sharedProduct } from '../support/product.js';
import { storeDelivery } from '../support/records.js';

interface Delivery {
  delivery_id: string;
  doc_id: string;
  event_type: string;
  status: string;
  crew?: string;
  created_at: string;
}

describe('the deliveries of all services', () => {
  const { apiUrl, mongodbUri } = sharedProduct();
  const org = 'all-deliveries';
  const receiver = receiverDuringTests();
  const api = clientDuringTests(org);
  /** The ids of what was delivered, by kind. */
  const ids: Record<string, string> = {};
  let paymentSecret: string;

  const list = async (query = '', client = api): Promise<Delivery[]> =>
    (await client.get(`/deliveries${query}`)).body.data.deliveries;
  const only = async (kind: string, client = api) => (await list(`?kind=${kind}`, client))[0]!;
  const detail = async ({ delivery_id }: Delivery, client = api) =>
    (await client.get(`/deliveries/${delivery_id}`)).body.data;
  const paymentClient = async () => createClient(apiUrl, (await makeKey(mongodbUri, org, 'payment_secret')).key);

  beforeAll(async () => {
    // The callback of the crew fails for good.
    receiver.respond = ({ json }) => ({ status: json.event === 'crew_completed' ? 410 : 204 });
    await api.post('/webhooks/indexing', { url: receiver.url });
    await storeDelivery(mongodbUri, org, 'note');
    const jobs = createJobClient(apiUrl, (await makeKey(mongodbUri, org)).key);
    const job = await jobs.submit(
      'text/language_detection/eld',
      { text: 'The ferry leaves at ten.' },
      { webhook_receiver: receiver.url },
    );
    const crew = createCrewClient(apiUrl, 'support-reply', (await makeKey(mongodbUri, org, 'crew_org')).key);
    const inputs = { customer_message: 'Where is my parcel?', notes: 'Parcels take two days.' };
    const execution = await crew.start(inputs);
    await crew.reaches(execution, 'pending_human_input');
    await crew.resume(execution, { task_id: 'draft_reply', is_approve: true, crewWebhookUrl: receiver.url });
    const merchant = await createMerchant(sharedProduct(), org);
    const payment = { amount: 1250, currency: 'EUR', webhook_url: receiver.url };
    const { body } = await merchant.server('POST', '/authentication/signing-secret', { json: {} });
    paymentSecret = body.signing_secret;
    const { id: authentication } = await merchant.start(payment);
    await merchant.server('POST', `/authentication/${authentication}/close`);
    Object.assign(ids, { item: 'note', job: job.body.job_id, crew: execution, authentication });
    await eventually('four deliveries', async () => {
      const states = (await list()).map(({ status }) => status).sort();
      return states.join() === 'delivered,delivered,delivered,permanently_failed';
    });
  });

  test('are in one list, newest first, and in one list for each kind', async () => {
    const all = await list();
    expect(all.map(({ doc_id }) => doc_id).sort()).toEqual(Object.values(ids).sort());
    const order = all.map(({ delivery_id }) => delivery_id);
    expect(order).toEqual([...order].sort().reverse());
    // The order of the ids is that of the times shown, so an id has the time of its record, not a later moment of another clock.
    expect(all.map(({ delivery_id }) => timeOfId(delivery_id)?.toISOString())).toEqual(
      all.map(({ created_at }) => created_at),
    );
    for (const [kind, id] of Object.entries(ids)) {
      expect([kind, (await list(`?kind=${kind}`)).map(({ doc_id }) => doc_id)]).toEqual([kind, [id]]);
    }
    expect((await only('crew')).crew).toBe('support-reply');
    expect(await list('?status=permanently_failed')).toEqual([await only('crew')]);
  });

  test('come page by page', async () => {
    const { data } = (await api.get('/deliveries?limit=3')).body;
    expect(data.deliveries).toHaveLength(3);
    const rest = await list(`?limit=3&cursor=${data.next_cursor}`);
    expect([...data.deliveries, ...rest]).toEqual(await list());
  });

  test('show their attempts to every key, and their body to keys of their service', async () => {
    const crewKey = createClient(apiUrl, (await makeKey(mongodbUri, org, 'crew_org')).key);
    const ofCrew = await only('crew');
    expect(await detail(ofCrew)).toMatchObject({ attempt_log: [{ status_code: 410 }], payload: null });
    expect(await detail(ofCrew, crewKey)).toMatchObject({ payload: { event: 'crew_completed' } });
    const ofItem = await only('item');
    expect(await detail(ofItem)).toMatchObject({ attempt_log: [{ status_code: 204 }], payload: { id: 'note' } });
    expect(await detail(ofItem, crewKey)).toMatchObject({ payload: null });
    const ofPayment = await only('authentication');
    expect(await detail(ofPayment)).toMatchObject({ payload: null, request: null });
    const { payload, request } = await detail(ofPayment, await paymentClient());
    expect(payload).toMatchObject({ event: 'authentication.ended', authentication_id: ids.authentication });
    const received = receiver.received.find(({ json }) => json.event === 'authentication.ended')!;
    expect(request.body).toBe(received.body.toString());
    expect(new Webhook(paymentSecret).verify(request.body, request.headers)).toEqual(received.json);
  });

  test('are those of authentications only for a key for payments', async () => {
    const merchant = await paymentClient();
    expect(await list('', merchant)).toMatchObject([{ doc_id: ids.authentication }]);
    expect(await list('?kind=item', merchant)).toEqual([]);
    const ofItem = await merchant.get(`/deliveries/${(await only('item')).delivery_id}`);
    expect([ofItem.status, ofItem.body.error?.code]).toEqual([404, 'DELIVERY_NOT_FOUND']);
  });

  test('show the address and the answers of the receiver to keys of their service only', async () => {
    const crewKey = createClient(apiUrl, (await makeKey(mongodbUri, org, 'crew_org')).key);
    const ofCrew = await only('crew');
    expect(await detail(ofCrew)).toMatchObject({ url: null, attempt_log: [{ answer: null }] });
    const { url, attempt_log } = await detail(ofCrew, crewKey);
    expect([url, typeof attempt_log[0].answer]).toEqual([receiver.url, 'string']);
  });

  test('are retried, whatever they are about, by a key of their service', async () => {
    receiver.respond = () => ({ status: 204 });
    const crewKey = createClient(apiUrl, (await makeKey(mongodbUri, org, 'crew_org')).key);
    const { delivery_id } = await only('crew');
    const foreign = await api.post(`/deliveries/${delivery_id}/retry`);
    expect([foreign.status, foreign.body.error?.code]).toEqual([403, 'FORBIDDEN']);
    expect((await crewKey.post(`/deliveries/${delivery_id}/retry`)).status).toBe(200);
    await eventually('the delivery', async () => (await only('crew')).status === 'delivered');
    const again = await crewKey.post(`/deliveries/${delivery_id}/retry`);
    expect([again.status, again.body.error?.code]).toEqual([409, 'DELIVERY_NOT_RETRYABLE']);
  });

  test('are for keys of the organisation only', async () => {
    const other = await clientOf('not-all-deliveries');
    expect(await list('', other)).toEqual([]);
    expect((await other.get(`/deliveries/${(await only('job')).delivery_id}`)).body.error?.code).toBe(
      'DELIVERY_NOT_FOUND',
    );
    const person = createClient(apiUrl, (await makeKey(mongodbUri, org, 'crew_user')).key);
    expect((await person.get('/deliveries')).status).toBe(403);
    expect((await api.get('/deliveries?kind=constructor')).status).toBe(400);
  });
});
