import { beforeAll, describe, expect, test } from '@jest/globals';
import type { Collection } from 'mongodb';
import { ulid } from 'ulid';
import type { DeliveryRecord } from '../../storage/webhooks/deliveries.js';
import { clientDuringTests, receiverDuringTests } from '../support/during-tests.js';
import { eventually } from '../support/eventually.js';
import { clientOf } from '../support/organisation.js';
import { sharedProduct, withDb } from '../support/product.js';
import { deliveryRecord } from '../support/records.js';

const RETRY = '/webhooks/indexing/deliveries/retry';
/** More than two batches of a replay. */
const LOST = 250;

describe('deliveries that are found and retried by a filter', () => {
  const { mongodbUri } = sharedProduct();
  const org = 'replays';
  const yesterday = new Date(Date.now() - 24 * 60 * 60 * 1000);
  const api = clientDuringTests(org);
  const receiver = receiverDuringTests(api);
  beforeAll(async () => {
    const lost = Array.from({ length: LOST }, (_, n) => failed(`lost-${n}`, { database: 'library' }));
    const [gone, other, old] = [
      failed('gone', { database: 'library', error_code: 'HTTP_410' }),
      failed('other', { database: 'shelf', collection: 'bob', item_error_code: 'E2001' }),
      failed('old', { database: 'archive', created_at: yesterday }),
    ];
    await inDb((deliveries) => deliveries.insertMany([...lost, gone, other, old]));
  });

  const inDb = <T>(work: (deliveries: Collection<DeliveryRecord>) => Promise<T>) =>
    withDb(mongodbUri, (db) => work(db.collection<DeliveryRecord>('deliveries')));

  /** A delivery that has failed permanently. */
  function failed(
    id: string,
    fields: { database: string; collection?: string; error_code?: string; item_error_code?: string; created_at?: Date },
  ): DeliveryRecord {
    const {
      database,
      collection = 'default',
      error_code = 'HTTP_503',
      item_error_code,
      created_at: now = new Date(),
    } = fields;
    const record = deliveryRecord({ _id: `dlv_${ulid(now.getTime()).toLowerCase()}`, org, now });
    const item = item_error_code === undefined ? {} : { error_code: item_error_code, error_message: 'Damaged.' };
    return {
      ...record,
      doc_id: id,
      status: 'permanently_failed',
      failures: 8,
      error_code,
      next_attempt_at: null,
      payload: { ...record.payload!, id, database, collection, ...item },
    };
  }

  const idsOf = async (query: string) => {
    const { data } = (await api.get(`/webhooks/indexing/deliveries?${query}`)).body;
    return data.deliveries.map(({ doc_id }: { doc_id: string }) => doc_id);
  };
  const replay = async (filter: object) => (await api.post(RETRY, filter)).body.data;
  const ended = (id: string) =>
    eventually('the end of the replay', async () => {
      const { data } = (await api.get(`/webhooks/indexing/replays/${id}`)).body;
      return data.status !== 'running' && data;
    });

  test.each([
    ['doc_id=gone', ['gone']],
    ['error_code=HTTP_410', ['gone']],
    ['item_error_code=E2001', ['other']],
    ['database=shelf', ['other']],
    ['tenant_id=shelf', ['other']],
    ['collection=bob&status=permanently_failed', ['other']],
    ['collection=bob&status=delivered', []],
    [`to=${new Date(yesterday.getTime() + 1).toISOString()}`, ['old']],
    [`from=${yesterday.toISOString()}&database=archive`, ['old']],
    [`from=${new Date(yesterday.getTime() + 1).toISOString()}&database=archive`, []],
  ])('the list filters by %s', async (query, ids) => {
    expect(await idsOf(query)).toEqual(ids);
  });

  test('the pages of a filtered list follow each other', async () => {
    // After the old one, and before all others, however long ago this file began.
    const from = encodeURIComponent(new Date(yesterday.getTime() + 60_000).toISOString());
    const seen: string[] = [];
    for (let cursor = ''; ; ) {
      const { data } = (await api.get(`/webhooks/indexing/deliveries?limit=100&from=${from}${cursor}`)).body;
      seen.push(...data.deliveries.map(({ doc_id }: { doc_id: string }) => doc_id));
      if (data.next_cursor === null) break;
      cursor = `&cursor=${data.next_cursor}`;
    }
    expect(new Set(seen).size).toBe(LOST + 2);
    expect(seen).toHaveLength(LOST + 2);
  });

  test('a record tells errors of attempts from errors of items', async () => {
    const { data } = (await api.get('/webhooks/indexing/deliveries?doc_id=other')).body;
    expect(data.deliveries[0]).toMatchObject({
      error_code: 'HTTP_503',
      item_error_code: 'E2001',
      item_error_message: 'Damaged.',
    });
  });

  test('a dry run counts, and sends nothing', async () => {
    const response = await api.post(RETRY, { database: 'library', dry_run: true });
    expect(response.status).toBe(200);
    expect(response.body.data).toMatchObject({ replay_id: null, matching: LOST + 1 });
    expect(await idsOf('database=library&status=permanently_failed&limit=1')).toHaveLength(1);
  });

  test('a replay sends all that match once, and nothing else', async () => {
    const { replay_id, matching } = await replay({ database: 'library', error_code: 'HTTP_503' });
    expect(matching).toBe(LOST);
    expect(await ended(replay_id)).toMatchObject({ status: 'completed', matching: LOST, requeued: LOST });
    await eventually('all delivered', () =>
      inDb(async (deliveries) => (await deliveries.countDocuments({ org, status: 'delivered' })) === LOST),
    );
    const ids = receiver.received.map(({ json }) => json.id);
    expect(new Set(ids).size).toBe(LOST);
    expect(ids).toHaveLength(LOST);
    expect((await idsOf('status=permanently_failed')).sort()).toEqual(['gone', 'old', 'other']);
  });

  test('an idempotency key starts one replay', async () => {
    const send = () =>
      api.request('POST', RETRY, { json: { doc_id: 'gone' }, headers: { 'Idempotency-Key': 'one-replay' } });
    const [first, second] = [await send(), await send()];
    expect([first.status, second.body.data.replay_id]).toEqual([202, first.body.data.replay_id]);
    expect(await ended(first.body.data.replay_id)).toMatchObject({ requeued: 1 });
  });

  test('a delivery is found that a process whose clock is ahead has just stored', async () => {
    const ahead = failed('ahead', { database: 'pier', created_at: new Date(Date.now() + 5_000) });
    await inDb((deliveries) => deliveries.insertOne({ ...ahead, org: 'replays-ahead' }));
    const own = await clientOf('replays-ahead');
    expect((await own.post(RETRY, { database: 'pier', dry_run: true })).body.data.matching).toBe(1);
  });

  test('an unknown field is rejected, and another organisation sees no replay', async () => {
    expect((await api.post(RETRY, { databse: 'library' })).status).toBe(422);
    const { replay_id } = await replay({ doc_id: 'nothing' });
    const stranger = await clientOf('replays-stranger');
    expect((await stranger.get(`/webhooks/indexing/replays/${replay_id}`)).status).toBe(404);
    expect(await ended(replay_id)).toMatchObject({ status: 'completed', matching: 0, requeued: 0 });
  });
});
