import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { DeliveryRecord } from '../../storage/webhooks/deliveries.js';
import { createCrewClient } from '../support/crew-client.js';
import { eventually } from '../support/eventually.js';
import { clientOf, registeredReceiver } from '../support/organisation.js';
import { makeKey, type Product, startProduct, withDb } from '../support/product.js';
import { storeDelivery } from '../support/records.js';

describe('a restart of everything that npm start runs', () => {
  const org = 'restart';
  let product: Product;
  beforeAll(async () => {
    product = await startProduct({ POSTBACK_CREWS_DIR: 'test/fixtures/crews', POSTBACK_EMBEDDINGS: 'off' });
  });
  afterAll(() => product?.remove());

  async function connect() {
    const { key } = await makeKey(product.mongodbUri, org, 'crew_org');
    return createCrewClient(product.apiUrl, 'letter', key);
  }

  /** A delivery whose only attempt is in progress. */
  async function deliveryToAHangingReceiver() {
    const hanging = await registeredReceiver(await clientOf(org, product));
    hanging.hold = () => new Promise(() => undefined);
    const _id = await storeDelivery(product.mongodbUri, org);
    await hanging.waitFor('the attempt', () => true);
    const record = () =>
      withDb(product.mongodbUri, async (db) => (await db.collection<DeliveryRecord>('deliveries').findOne({ _id }))!);
    return { receiver: hanging, record };
  }

  test('an execution that waits for a person still waits, and continues; an attempt in progress is repeated', async () => {
    let letter = await connect();
    const id = await letter.start({ name: 'Ada', facts: 'The ship leaves at nine. Ada has the keys.' });
    const paused = await letter.reaches(id, 'pending_human_input');
    const hanging = await deliveryToAHangingReceiver();
    await product.worker.stop();
    // The worker has given its claim back, so the next worker does not wait until it expires.
    expect(await hanging.record()).toMatchObject({ status: 'pending', attempts: 1 });
    await product.stop();
    product = await startProduct({
      POSTBACK_CREWS_DIR: 'test/fixtures/crews',
      POSTBACK_EMBEDDINGS: 'off',
      POSTBACK_DATA_DIR: product.dataDir,
    });
    letter = await connect();
    hanging.receiver.hold = undefined;
    await eventually('delivered', async () => (await hanging.record()).status === 'delivered');
    await hanging.receiver.close();
    expect(await letter.status(id)).toMatchObject({ status: 'pending_human_input', tasks: paused.tasks });
    const response = await letter.resume(id, { task_id: paused.current_task, is_approve: true });
    expect(response).toMatchObject({ status: 200 });
    await letter.reaches(id, 'completed');
  });
});
