import { randomBytes } from 'node:crypto';
import { beforeAll, describe, expect, test } from '@jest/globals';
import type { Document } from 'mongodb';
import { newDeliveryId } from '../../domain/ids.js';
import { createSealer } from '../../domain/sealing.js';
import { verifyJobCallback } from '../../receiver/index.js';
import type { AiJobRecord } from '../../storage/ai-jobs/job-record.js';
import { createSigningKeys, type SigningKeyRecord } from '../../storage/ai-jobs/signing-keys.js';
import { byOrganisation } from '../../storage/organisation-records.js';
import type { DeliveryRecord } from '../../storage/webhooks/deliveries.js';
import { pendingDelivery } from '../../storage/webhooks/new-delivery.js';
import { collectionsDuringTests } from '../support/during-tests.js';
import { createJobClient } from '../support/job-client.js';
import { connectMongo } from '../support/mongodb.js';
import { databaseBeside, makeKey, sharedProduct } from '../support/product.js';
import { startReceiver } from '../support/receiver.js';
import { aiJobRecord } from '../support/records.js';

const DAY_MS = 24 * 60 * 60 * 1000;

describe('the keys that sign callbacks of AI jobs', () => {
  const { apiUrl, mongodbUri } = sharedProduct();
  let processes: ReturnType<typeof createSigningKeys>[];
  const collections = collectionsDuringTests(databaseBeside(mongodbUri, 'rsa-keys'));
  beforeAll(async () => {
    const sealer = createSealer(randomBytes(32).toString('base64'));
    processes = [createSigningKeys(collections, sealer), createSigningKeys(collections, sealer)];
  });

  const retiredLongAgo = (id: string) =>
    collections.signingKeys.updateOne({ _id: id }, { $set: { retired_at: new Date(Date.now() - 2 * DAY_MS) } });

  test('an organisation cannot have a body signed that verifies for another', async () => {
    const receiver = await startReceiver();
    const clientOf = async (org: string) => createJobClient(apiUrl, (await makeKey(mongodbUri, org)).key);
    const [attacker, victim] = await Promise.all([clientOf('rsa-attacker'), clientOf('rsa-victim')]);
    const forged = { webhook_receiver: receiver.url, user_webhook_parameters: { invoice: 'paid' } };
    const { job_id } = (await attacker.submit('text/sentiment_analysis/wink', { text: 'Fine.' }, forged)).body;
    const { body, headers } = await receiver.waitFor('the callback', ({ json }) => json.job_id === job_id);
    const pemOf = async (api: typeof victim) => (await api.get('/v3/ai/webhook-public-key')).text;
    expect(verifyJobCallback(body, headers, await pemOf(attacker))).toMatchObject({ job_id });
    const verified = await pemOf(victim);
    expect(verified.match(/BEGIN PUBLIC KEY/g)).toHaveLength(1);
    expect(() => verifyJobCallback(body, headers, verified)).toThrow('does not match');
    await receiver.close();
  });

  test('the first key is created once, however many processes need it', async () => {
    const ids = await Promise.all(processes.flatMap((keys) => Array.from({ length: 20 }, () => keys.currentId('new'))));
    expect(new Set(ids).size).toBe(1);
    const [record] = await collections.signingKeys.find({ org: 'new' }).toArray();
    expect(record!._id).toBe(ids[0]);
    expect(await collections.signingKeys.countDocuments({ org: 'new' })).toBe(1);
    expect(JSON.stringify(record)).not.toContain('PRIVATE KEY');
  });

  test('a key opens for its own organisation only', async () => {
    const id = await processes[0]!.currentId('new');
    await expect(processes[1]!.openPrivateKey('other', id)).rejects.toThrow('no signing key');
    const key = await processes[1]!.openPrivateKey('new', id);
    expect(key.asymmetricKeyDetails).toMatchObject({ modulusLength: 3072 });
  });

  test('a rotation replaces the key of one organisation, and keeps the old key listed until its last job is done', async () => {
    const [keys] = processes as [(typeof processes)[number]];
    const old = await keys.currentId('rotating');
    const [before] = await keys.listPublicKeys('rotating');
    const others = await keys.listPublicKeys('new');
    const job = aiJobRecord({
      org: 'rotating',
      webhook_receiver: 'https://a.test/',
      signing_key: old,
      now: new Date(),
    });
    await collections.aiJobs.insertOne(job);

    const next = await keys.rotate('rotating');
    expect(await keys.currentId('rotating')).toBe(next);
    await retiredLongAgo(old);
    const listed = await keys.listPublicKeys('rotating');
    expect(listed).toHaveLength(2);
    expect(listed[1]).toBe(before);
    expect(await keys.listPublicKeys('new')).toEqual(others);

    await collections.aiJobs.updateOne({ _id: job._id }, { $set: { status: 'success' } });
    const delivery = {
      _id: newDeliveryId(new Date()),
      org: 'rotating',
      dedupe_key: 'a',
      doc_id: job._id,
      url: 'https://a.test/',
    };
    await collections.deliveries.insertOne(
      pendingDelivery({ ...delivery, event_type: 'async_job_completed', signing_key: old, now: new Date() }, true),
    );
    expect(await keys.listPublicKeys('rotating')).toEqual(listed);
    await collections.deliveries.updateOne({ _id: delivery._id }, { $set: { status: 'delivered' } });
    expect(await keys.listPublicKeys('rotating')).toEqual([listed[0]]);
  });

  test('the public keys are found in indexes, whatever the number of jobs and deliveries', async () => {
    const client = await connectMongo(databaseBeside(mongodbUri, 'rsa-keys'), { monitorCommands: true });
    const org = 'rotated';
    const db = client.db();
    const stores = {
      signingKeys: byOrganisation(db.collection<SigningKeyRecord>('signing_keys')),
      aiJobs: byOrganisation(db.collection<AiJobRecord>('ai_jobs')),
      deliveries: byOrganisation(db.collection<DeliveryRecord>('deliveries')),
    };
    const keys = createSigningKeys(
      { ...stores, mongoClient: client, now: () => new Date() },
      createSealer(randomBytes(32).toString('base64')),
    );
    const old = await keys.currentId(org);
    await keys.rotate(org);
    await retiredLongAgo(old);
    const queries: Document[] = [];
    client.on('commandStarted', ({ commandName, command }) => commandName === 'find' && queries.push(command));
    expect(await keys.listPublicKeys(org)).toHaveLength(1);
    expect(queries.map(({ find }) => find)).toEqual(['signing_keys', 'signing_keys', 'ai_jobs', 'deliveries']);
    for (const { find, filter } of queries) {
      const { queryPlanner } = await db.command({ explain: { find, filter } });
      expect(JSON.stringify(queryPlanner.winningPlan)).toMatch(/"indexName":"(org|signing_key)_1/);
    }
  });
});
