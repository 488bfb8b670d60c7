import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { Webhook } from 'standardwebhooks';
import { connectTemporal } from '../temporal/connection.js';
import { type ApiResponse, createClient, statusAndCode } from './support/client.js';
import { runCommand } from './support/command.js';
import { connectorsOf } from './support/connectors.js';
import { createCrewClient } from './support/crew-client.js';
import { eventually } from './support/eventually.js';
import { makeKey, type Product, startProcesses, withDb } from './support/product.js';
import { type Receiver, startReceiver } from './support/receiver.js';

const ORG = 'acme';
const NOTES = 12;

// Two complete deployments: each has its own database, namespace, search index and sealing key.
describe('an organisation that moves to another cell', () => {
  const folder = mkdtempSync(join(tmpdir(), 'postback-move-'));
  const settings = {
    // Failed deliveries are tried again soon, so that an attempt of the source after the switch would show.
    POSTBACK_DELIVERY_SCHEDULE_MS: Array.from({ length: 200 }, () => 1000).join(),
    POSTBACK_RECONCILE_SECONDS: '2',
    POSTBACK_RECONCILE_QUIET_SECONDS: '1',
  };
  const keyOf = (byte: number) => Buffer.alloc(32, byte).toString('base64');
  const cells: { product: Product; env: string }[] = [];
  let source: Product;
  let target: Product;
  let keys: { content: string; crews: string; other: string };
  let receiver: Receiver;
  let secret: string;
  let waiting: string;
  let connector: string;
  let kept: ApiResponse;
  /** Attempts of the source when the command returned. */
  let attemptsBefore: Map<string, number>;

  const startCell = async (name: string, byte: number, lanes: number) => {
    const sealing = { POSTBACK_SEALING_KEY: keyOf(byte), POSTBACK_DELIVERY_LANES: String(lanes) };
    const product = await startProcesses(name, { ...settings, ...sealing });
    const env = join(folder, `${name}.env`);
    const { mongodbUri, temporalAddress, dataDir } = product;
    writeFileSync(
      env,
      Object.entries({
        ...sealing,
        MONGODB_URI: mongodbUri,
        TEMPORAL_ADDRESS: temporalAddress,
        TEMPORAL_NAMESPACE: name,
        POSTBACK_DATA_DIR: dataDir,
      })
        .map(([setting, value]) => `${setting}=${value}\n`)
        .join(''),
    );
    cells.push({ product, env });
    return product;
  };
  const move = (...args: string[]) =>
    runCommand(['orgs', 'move', '--org', ORG, '--from', cells[0]!.env, '--to', cells[1]!.env, '--json', ...args], {});
  const deliveriesOf = ({ mongodbUri }: Product, org = ORG) =>
    withDb(mongodbUri, (db) => db.collection('deliveries').find({ org }).toArray());
  const register = (api: ReturnType<typeof createClient>) =>
    api.post('/webhooks/indexing', { url: receiver.url, generate_signing_secret: true });

  beforeAll(async () => {
    receiver = await startReceiver();
    receiver.respond = () => ({ status: 503 });
    source = await startCell('cell-a', 21, 4);
    target = await startCell('cell-b', 22, 2);
    const create = async (org: string, kind: 'api' | 'crew_org') => (await makeKey(source.mongodbUri, org, kind)).key;
    keys = {
      content: await create(ORG, 'api'),
      crews: await create(ORG, 'crew_org'),
      other: await create('stays', 'api'),
    };
    const api = createClient(source.apiUrl, keys.content);
    await api.createDatabase('library');
    secret = (await register(api)).body.data.signing_secret;
    const memories = Array.from({ length: NOTES }, (_, n) => ({ id: `note-${n}`, text: `Note ${n} about parcels.` }));
    // So many at once that their deliveries go through lanes.
    const ingested = await api.ingest({ database: 'library', memories: JSON.stringify(memories) });
    expect(ingested.status).toBe(202);
    const pdf = { name: 'history.pdf', content: readFileSync('examples/lighthouse-history.pdf') };
    await api.ingest({ database: 'library', document_metadata: '[{"id":"history"}]' }, [pdf]);
    expect(await api.ended('library', 'history')).toMatchObject({ indexing_status: 'completed' });
    await eventually('all attempted', async () => {
      const records = await deliveriesOf(source);
      return records.length === NOTES + 1 && records.every(({ attempts }) => attempts > 0);
    });
    const inputs = { customer_message: 'Where is my parcel?', notes: 'Parcels take two days.' };
    const crew = createCrewClient(source.apiUrl, 'support-reply', keys.crews);
    waiting = await crew.start(inputs);
    await crew.reaches(waiting, 'pending_human_input');
    const web = { kind: 'web', database: 'library', settings: { urls: [receiver.url] } };
    connector = await connectorsOf(api, source.mongodbUri).create(web);
    kept = await api.request('POST', '/databases', {
      json: { database: 'second' },
      headers: { 'Idempotency-Key': 'k1' },
    });
    expect(kept.status).toBe(202);

    const moved = await move('--settle', '1', '--address', 'https://acme.example.com');
    expect([moved.code, moved.err]).toEqual([0, expect.any(String)]);
    attemptsBefore = new Map((await deliveriesOf(source)).map(({ _id, attempts }) => [String(_id), Number(attempts)]));
    receiver.respond = () => ({ status: 204 });
  });
  afterAll(async () => {
    for (const { product } of cells) await product.remove();
    await receiver?.close();
    rmSync(folder, { recursive: true, force: true });
  });

  test('gets every webhook that was waiting, from the target alone', async () => {
    await eventually('all delivered', async () => {
      const records = await deliveriesOf(target);
      return records.length >= NOTES + 1 && records.every(({ status }) => status === 'delivered');
    });
    const records = await deliveriesOf(target);
    const requestsOf = (id: unknown) => receiver.received.filter(({ headers }) => headers['webhook-id'] === id).length;
    for (const { _id, attempts } of records) {
      // Attempts that the target has not recorded would be attempts of the source after the switch.
      expect([_id, requestsOf(_id)]).toEqual([_id, attempts]);
    }
    for (const { _id, attempts, status } of await deliveriesOf(source)) {
      expect([_id, attempts, status]).toEqual([_id, attemptsBefore.get(String(_id)), 'failed']);
    }
    const last = receiver.received.at(-1)!;
    expect(new Webhook(secret).verify(last.body.toString(), last.headers as Record<string, string>)).toMatchObject({
      status: 'completed',
    });
  });

  test('leaves no workflow and no schedule at the source', async () => {
    const { connection, workflow, schedule } = await connectTemporal(source.temporalAddress, 'cell-a');
    try {
      await eventually('no workflow', async () => {
        const { count } = await workflow.count(`PostbackOrganisation = '${ORG}' AND ExecutionStatus = 'Running'`);
        return count === 0;
      });
      const ids: string[] = [];
      for await (const { scheduleId } of schedule.list()) ids.push(scheduleId);
      expect(ids.filter((id) => id.includes(connector))).toEqual([]);
    } finally {
      await connection.close();
    }
  });

  test('has its keys, files, search, saved responses and connectors at the target', async () => {
    const api = createClient(target.apiUrl, keys.content);
    expect(await api.idsFound('library', 'Who built the lighthouse?')).toContain('history');
    const original = await api.content('library', 'history');
    expect(original.equals(readFileSync('examples/lighthouse-history.pdf'))).toBe(true);
    const again = { json: { database: 'second' }, headers: { 'Idempotency-Key': 'k1' } };
    const repeated = await api.request('POST', '/databases', again);
    expect([repeated.body.data, repeated.headers.get('Idempotent-Replayed')]).toEqual([kept.body.data, 'true']);
    await eventually('a schedule', async () => {
      const { connection, schedule } = await connectTemporal(target.temporalAddress, 'cell-b');
      const found = await schedule
        .getHandle(`sync/${ORG}/${connector}`)
        .describe()
        .catch(() => null);
      await connection.close();
      return found;
    });
  });

  test('resumes a crew that waited for a person', async () => {
    const crew = createCrewClient(target.apiUrl, 'support-reply', keys.crews);
    expect(await crew.status(waiting)).toMatchObject({ status: 'pending_human_input' });
    await crew.approve(waiting, 'draft_reply');
    expect(await crew.reaches(waiting, 'completed')).toMatchObject({ result: expect.anything() });
  });

  test('is answered by the source with where it is, while other organisations are served', async () => {
    const api = createClient(source.apiUrl, keys.content);
    const answers = [await api.get('/databases'), await api.post('/databases', { database: 'third' })];
    for (const answer of answers) {
      expect(statusAndCode(answer)).toEqual([421, 'ORGANISATION_MOVED']);
      expect(answer.body.error!.message).toContain('https://acme.example.com');
    }
    const crew = createCrewClient(source.apiUrl, 'support-reply', keys.crews);
    expect((await crew.get(`/crews/support-reply/${waiting}/status`)).body).toMatchObject({
      error: 'Misdirected Request',
    });
    await createClient(source.apiUrl, keys.other).createDatabase('mine');
    const created = await runCommand(['keys', 'create', '--org', ORG], { MONGODB_URI: source.mongodbUri });
    expect([created.code, created.err]).toEqual([1, expect.stringContaining('create the key there')]);
  });

  test('can be purged from the source, which goes on saying where it is', async () => {
    const again = await move('--settle', '1');
    expect([again.code, JSON.parse(again.out)]).toMatchObject([0, { state: 'moved', records: {} }]);
    const { mongodbUri, dataDir } = source;
    const env = { MONGODB_URI: mongodbUri, POSTBACK_DATA_DIR: dataDir, POSTBACK_SEALING_KEY: keyOf(21) };
    const other = await runCommand(['orgs', 'purge', '--org', 'stays'], env);
    expect([other.code, other.err]).toEqual([1, expect.stringContaining('stays has not moved')]);
    const purged = await runCommand(['orgs', 'purge', '--org', ORG, '--json'], env);
    expect([purged.code, JSON.parse(purged.out).deleted]).toEqual([0, expect.any(Number)]);
    expect(await deliveriesOf(source)).toEqual([]);
    const files = await withDb(mongodbUri, (db) =>
      db.collection('files.files').countDocuments({ 'metadata.org': ORG }),
    );
    expect(files).toBe(0);
    expect(statusAndCode(await createClient(source.apiUrl, keys.content).get('/databases'))).toEqual([
      421,
      'ORGANISATION_MOVED',
    ]);
    expect((await createClient(target.apiUrl, keys.content).get('/databases')).body.data.databases).toHaveLength(2);
  });
});
