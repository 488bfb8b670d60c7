import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { Webhook } from 'standardwebhooks';
import { createClient } from '../support/client.js';
import { runCommand } from '../support/command.js';
import { createCrewClient } from '../support/crew-client.js';
import { receiverDuringTests } from '../support/during-tests.js';
import { eventually } from '../support/eventually.js';
import { createJobClient } from '../support/job-client.js';
import {
  createNamespace,
  databaseBeside,
  makeKey,
  type Product,
  sharedProduct,
  startProcesses,
  startProcessesAgain,
} from '../support/product.js';

// Starts its own processes twice: those that are backed up, and those that run on the restored data.
describe('a service that was restored from a backup', () => {
  const { temporalAddress, mongodbUri } = sharedProduct();
  const [BEFORE, AFTER] = ['backed-up', 'restored'];
  const settings = {
    POSTBACK_SEALING_KEY: Buffer.alloc(32, 11).toString('base64'),
    // Failed deliveries wait, so that one of them is unfinished in the backup, however long that takes.
    POSTBACK_DELIVERY_SCHEDULE_MS: Array(300).fill(1_000).join(),
    POSTBACK_RECONCILE_SECONDS: '2',
    POSTBACK_RECONCILE_QUIET_SECONDS: '1',
  };
  const folder = mkdtempSync(join(tmpdir(), 'postback-restored-'));
  const path = join(folder, 'backup.ndjson.gz');
  const inputs = { customer_message: 'Where is my parcel?', notes: 'Parcels take two days.' };
  let product: Product;
  let keys: { content: string; crews: string };
  let waiting: string;
  let job: string;
  let secret: string;
  const receiver = receiverDuringTests();
  beforeAll(async () => {
    receiver.respond = () => ({ status: 500 });
    const before = await startProcesses(BEFORE!, settings);
    const keyOf = async (kind: 'api' | 'crew_org') => (await makeKey(before.mongodbUri, 'acme', kind)).key;
    keys = { content: await keyOf('api'), crews: await keyOf('crew_org') };
    const api = createClient(before.apiUrl, keys.content);
    await api.createDatabase('library');
    const registered = await api.post('/webhooks/indexing', { url: receiver.url, generate_signing_secret: true });
    secret = registered.body.data.signing_secret;
    const content = readFileSync('examples/lighthouse-history.pdf');
    await api.ingest({ database: 'library', document_metadata: '[{"id":"history"}]' }, [
      { name: 'history.pdf', content },
    ]);
    expect(await api.ended('library', 'history')).toMatchObject({ indexing_status: 'completed' });
    const jobs = createJobClient(before.apiUrl, keys.content);
    const submitted = await jobs.submit('text/language_detection/eld', { text: 'Guten Morgen' });
    expect(await jobs.finished(submitted)).toMatchObject({ status: 'success' });
    job = submitted.body.job_id;
    const crew = createCrewClient(before.apiUrl, 'support-reply', keys.crews);
    waiting = await crew.start(inputs);
    await crew.reaches(waiting, 'pending_human_input');
    await receiver.waitFor('the first attempt', ({ json }) => json.id === 'history');

    const backup = await runCommand(['backup', path], {
      ...settings,
      MONGODB_URI: before.mongodbUri,
      POSTBACK_DATA_DIR: folder,
    });
    expect([backup.code, backup.out]).toEqual([0, expect.stringContaining('Its secrets are sealed with the key ')]);
    await before.remove();
    await createNamespace(temporalAddress, AFTER!);
    const restored = await runCommand(['restore', path], {
      ...settings,
      MONGODB_URI: databaseBeside(mongodbUri, AFTER!),
      POSTBACK_DATA_DIR: folder,
    });
    expect([restored.code, restored.out]).toEqual([0, expect.stringContaining('the indexes of 1 databases')]);
    receiver.received.splice(0);
    receiver.respond = () => ({ status: 204 });
    product = await startProcessesAgain(AFTER!, { ...settings, POSTBACK_DATA_DIR: folder });
  });
  afterAll(async () => {
    await product?.remove();
    rmSync(folder, { recursive: true, force: true });
  });

  test('answers queries, and returns the original file', async () => {
    const api = createClient(product.apiUrl, keys.content);
    expect(await api.idsFound('library', 'Who built the lighthouse?')).toContain('history');
    const original = await api.content('library', 'history');
    expect(original.equals(readFileSync('examples/lighthouse-history.pdf'))).toBe(true);
  });

  test('sends the webhook that was not delivered, signed with the secret of the receiver', async () => {
    const { headers, body } = await receiver.waitFor('the webhook', ({ json }) => json.id === 'history');
    const verified = new Webhook(secret).verify(body.toString(), headers as Record<string, string>);
    expect(verified).toMatchObject({ id: 'history', status: 'completed' });
    const api = createClient(product.apiUrl, keys.content);
    await eventually('delivered', async () => {
      const { body } = await api.get('/webhooks/indexing/deliveries?status=delivered');
      return body.data.deliveries.length === 1;
    });
  });

  test('has the result of a job, and resumes a crew that waited for a person', async () => {
    const jobs = createJobClient(product.apiUrl, keys.content);
    expect((await jobs.get(`/v3/ai/async/${job}`)).body).toMatchObject({ status: 'success' });
    const crew = createCrewClient(product.apiUrl, 'support-reply', keys.crews);
    expect(await crew.status(waiting)).toMatchObject({ status: 'pending_human_input' });
    await crew.approve(waiting, 'draft_reply');
    expect(await crew.reaches(waiting, 'completed')).toMatchObject({ result: expect.anything() });
  });
});
