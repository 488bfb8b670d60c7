/**
 * Records sample histories of every workflow into `test/histories/`, from real runs on its own servers:
 * `npm run record-histories`. Replaying them shows whether running executions survive a change of the code.
 */
import { randomUUID } from 'node:crypto';
import { cpSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { historyToJSON } from '@temporalio/common/lib/proto-utils.js';
import { openCollections } from '../../storage/collections.js';
import { createIndexRebuilds } from '../../storage/content/index-rebuilds.js';
import { connectTemporal } from '../../temporal/connection.js';
import { createStarters } from '../../temporal/starters.js';
import { createClient } from './client.js';
import { connectorsOf } from './connectors.js';
import { eventually } from './eventually.js';
import { createJobClient } from './job-client.js';
import { closeConnections } from './mongodb.js';
import { sendJson, startOpenAiServer } from './openai-server.js';
import { createMerchant } from './payments.js';
import { makeKey, startProduct, withDb } from './product.js';
import { startReceiver } from './receiver.js';
import { reconcile } from './reconcile.js';
import { recordCrews } from './record-crews.js';
import { recordLanes } from './record-lanes.js';
import { html, startSite } from './site.js';

const FOLDER = 'test/histories';

const openai = await startOpenAiServer();
const crews = mkdtempSync(join(tmpdir(), 'postback-crews-'));
for (const folder of ['crews', 'test/fixtures/crews']) cpSync(folder, crews, { recursive: true });
const product = await startProduct({
  POSTBACK_OPENAI_URL: openai.baseUrl,
  POSTBACK_OPENAI_CHAT_MODEL: 'small',
  POSTBACK_CREWS_DIR: crews,
  POSTBACK_AUTHENTICATION_SECONDS: '2',
});
const receiver = await startReceiver();
const temporal = await connectTemporal(product.temporalAddress, 'default');
const { key } = await makeKey(product.mongodbUri, 'histories');
const api = createClient(product.apiUrl, key);
const jobs = createJobClient(product.apiUrl, key);

async function record(name: string, workflowId: string, { runId = '', open = false } = {}): Promise<void> {
  const path = `${FOLDER}/${name}.json`;
  // Histories of earlier code are kept. A new path through a workflow gets a new name.
  if (existsSync(path)) return;
  const handle = temporal.workflow.getHandle(workflowId, runId || undefined);
  if (!open) await eventually(`${workflowId} closed`, async () => (await handle.describe()).status.name !== 'RUNNING');
  const history = JSON.stringify(JSON.parse(historyToJSON(await handle.fetchHistory())), null, 1);
  // Stack traces contain the local folder.
  writeFileSync(path, `${history.replaceAll(`${process.cwd()}/`, '')}\n`);
  console.log(`${name}  ${workflowId}`);
}

/** @returns the id of the newest workflow that the visibility store finds */
async function newest(query: string): Promise<string> {
  return eventually(query, async () => {
    for await (const execution of temporal.workflow.list({ query })) return execution.workflowId;
    return undefined;
  });
}

async function deliveryOf(id: string) {
  return eventually(`delivery of ${id}`, async () => {
    const { deliveries } = (await api.get('/webhooks/indexing/deliveries?limit=100')).body.data;
    return deliveries.find((delivery: { doc_id: string }) => delivery.doc_id === id);
  });
}

/** Embeds all databases again. @returns the id of the workflow */
async function rebuildIndexes({ cancelled = false } = {}): Promise<string> {
  const collections = await openCollections(product.mongodbUri, 'postback-test');
  const { _id } = await createIndexRebuilds(collections).add({ database: null, all: true }, 'running');
  const starters = createStarters(temporal);
  await starters.startRebuild(_id, 1_000);
  if (cancelled) await starters.cancelRebuild(_id);
  else await temporal.workflow.getHandle(`index-rebuild/${_id}`).result();
  await collections.mongoClient.close();
  return `index-rebuild/${_id}`;
}

try {
  mkdirSync(FOLDER, { recursive: true });
  await api.createDatabase('library');
  await record('provision-database', await newest('WorkflowType="provisionDatabase"'));

  await api.post('/webhooks/indexing', { url: receiver.url });
  receiver.respond = ({ json }) => ({ status: json.id === 'well' ? 204 : json.id === 'gone' ? 410 : 500 });
  await api.ingest({
    database: 'library',
    memories: JSON.stringify(['well', 'retried', 'gone'].map((id) => ({ id, text: `The note ${id}.` }))),
  });
  await api.ingest({ database: 'library', memories: '[{"id":"alone","text":"The note alone."}]' });
  // More than a request starts itself.
  // Text files would share a workflow.
  const files = ['broken.pdf', 'read.html', 'one.html', 'two.html', 'three.html'];
  await api.ingest(
    { database: 'library', document_metadata: JSON.stringify(files.map((name) => ({ id: name.split('.')[0] }))) },
    files.map((name) => ({
      name,
      content: name === 'broken.pdf' ? '%PDF-1.7\nnothing of a PDF follows' : `<p>The note ${name}.</p>`,
    })),
  );
  for (const id of ['well', 'retried', 'gone', 'broken', 'read', 'alone']) await api.ended('library', id);
  // The older file is from the time when files shared the queue of notes.
  for (const name of ['index-item-completed', 'index-item-on-file-queue'])
    await record(name, await newest('WorkflowType="indexItem" AND PostbackSource="read"'));
  await record('index-items-completed', await newest('WorkflowType="indexItems" AND PostbackSource="well"'));
  await record('index-small-item-completed', await newest('WorkflowType="indexItem" AND PostbackSource="alone"'));
  // As if its processing had been lost three times with its process.
  await withDb(product.mongodbUri, async (db) => {
    const alone = (await db.collection('items').findOne({ id: 'alone' }))!;
    const runs = { step: 'index', begun: 3 };
    const lost = {
      ...alone,
      _id: `${alone._id}-lost`,
      id: 'lost',
      indexing_status: 'queued',
      runs,
      check_at: new Date(0),
    };
    await db.collection<{ _id: string }>('items').insertOne(lost);
  });
  await reconcile(product);
  await record('index-small-item-errored', await newest('WorkflowType="indexItem" AND PostbackSource="lost"'));
  const broken = await newest('WorkflowType="indexItem" AND PostbackSource="broken"');
  await record('index-item-errored', broken);
  // The file without `-shown` is older than the outcome's search attribute. The same applies below.
  await record('index-item-errored-for-client', broken);
  await record('start-ingested-items', await newest('WorkflowType="startIngestedItems"'));
  await record('deliver-webhook-delivered', `delivery/${(await deliveryOf('well')).delivery_id}`);
  const gone = `delivery/${(await deliveryOf('gone')).delivery_id}`;
  await record('deliver-webhook-permanently-failed', gone);
  await record('deliver-webhook-permanently-failed-shown', gone);

  const { delivery_id } = await deliveryOf('retried');
  await eventually('two failed attempts', async () => {
    const { data } = (await api.get(`/webhooks/indexing/deliveries/${delivery_id}`)).body;
    return data.status === 'failed' && data.attempts === 2;
  });
  receiver.respond = () => ({ status: 204 });
  await api.post(`/webhooks/indexing/deliveries/${delivery_id}/retry`);
  await record('deliver-webhook-retried-by-a-person', `delivery/${delivery_id}`);
  const { replay_id } = (await api.post('/webhooks/indexing/deliveries/retry', { doc_id: 'gone' })).body.data;
  await record('replay-deliveries', `replay/histories/${replay_id}`);
  await recordCrews({ product, openai, temporal, record });
  receiver.respond = () => ({ status: 503, headers: { 'Retry-After': '60' } });
  const recovers = () => {
    receiver.respond = () => ({ status: 204 });
  };
  await recordLanes({ product, temporal, org: 'histories', recovers, record });

  const merchant = await createMerchant(product, 'histories');
  await record('expire-authentication', `authentication/${(await merchant.start()).id}`);
  const job = await jobs.submit('text/sentiment_analysis/wink', { text: 'The note is fine.' }, { webhook_receiver: receiver.url }); // biome-ignore format: one line
  await jobs.finished(job);
  await record('run-ai-job-success', `ai-job/${job.body.job_id}`);
  const callback = await newest(`WorkflowType="deliverWebhook" AND PostbackSource="${job.body.job_id}"`);
  await record('deliver-webhook-of-a-job', callback);
  // As if the process had died that was to start them: the reconciler starts the group. One has lost a run before.
  await withDb(product.mongodbUri, async (db) => {
    const done = (await db.collection('ai_jobs').findOne({ _id: job.body.job_id }))!;
    const waiting = { ...done, status: 'queued', quick: true, group: 'grp_recorded', check_at: new Date(0) };
    const members = [0, 1].map((runs) => ({ ...waiting, _id: randomUUID(), runs }));
    await db.collection<{ _id: string }>('ai_jobs').insertMany(members);
  });
  await reconcile(product);
  await record('run-ai-jobs', 'ai-jobs/histories/grp_recorded');
  const chat = { messages: [{ role: 'user', content: 'The note?' }] };
  openai.respondWith((_request, response) => sendJson(response, {}, openai.requests.length === 1 ? 503 : 400));
  const failing = await jobs.submit('text/chat/openai', chat);
  await jobs.finished(failing);
  await record('run-ai-job-fail', `ai-job/${failing.body.job_id}`);
  await record('run-ai-job-fail-for-client', `ai-job/${failing.body.job_id}`);
  openai.respondWith(() => undefined);
  const requests = openai.requests.length;
  const cancelled = await jobs.submit('text/chat/openai', chat);
  await eventually('a request to the provider', () => openai.requests.length > requests);
  await jobs.request('DELETE', `/v3/ai/async/${cancelled.body.job_id}`);
  await jobs.finished(cancelled);
  await record('run-ai-job-cancelled', `ai-job/${cancelled.body.job_id}`);
  const site = await startSite({ '/page': html('Page', 'The note of the page.') });
  const connectors = connectorsOf(api, product.mongodbUri);
  const settings = { urls: [`${site.url}/page`] };
  const connector = await connectors.create({ kind: 'web', database: 'library', settings });
  await connectors.sync(connector);
  const syncs = (id: string) =>
    `WorkflowType="syncConnector" AND PostbackSource="${id}" AND ExecutionStatus="Completed"`;
  await record('sync-connector-completed', await newest(syncs(connector)));
  const failed = await connectors.create({ kind: 'feed', database: 'library', settings: { url: `${site.url}/none` } });
  await connectors.sync(failed);
  await record('sync-connector-failed', await newest(syncs(failed)));
  await record('sync-connector-failed-for-client', await newest(syncs(failed)));
  await api.del(`/connectors/${connector}?items=remove`);
  await record('remove-connector', `connector-removal/histories/${connector}`);
  await site.close();
  // As if a process had died before it wrote the index rows of a change: the reconciler starts the workflow.
  await withDb(product.mongodbUri, (db) =>
    db.collection('items').updateOne({ id: 'well' }, { $set: { rows_due: ['chg_recorded'], check_at: new Date(0) } }),
  );
  await reconcile(product);
  await record('refresh-index-rows', await newest('WorkflowType="refreshIndexRows"'));
  await record('rebuild-index', await rebuildIndexes());
  await record('rebuild-index-cancelled', await rebuildIndexes({ cancelled: true }));
  await api.request('DELETE', '/context', { json: { database: 'library', ids: ['well', 'broken'] } });
  await record('clear-removed-items', await newest('WorkflowType="clearRemovedItems"'));
  await api.del('/databases/library');
  await record('delete-database', await newest('WorkflowType="deleteDatabase"'));
  // `sweep.json` is older than the activities per kind of record, `sweep-per-kind.json` than the lanes.
  for (const [name, type] of [
    ['sweep-per-kind', 'sweep'],
    ['sweep-with-lanes', 'sweep'],
    ['sweep-with-replays', 'sweep'],
    ['sweep-with-authentications', 'sweep'],
    ['sweep-with-rebuilds', 'sweep'],
    ['drop-abandoned-files', 'dropAbandonedFiles'],
    ['compact-search-index', 'compactSearchIndex'],
  ] as const) {
    await record(name, await newest(`WorkflowType="${type}" AND ExecutionStatus="Completed"`));
  }
} finally {
  await temporal.connection.close();
  await receiver.close();
  await openai.close();
  await closeConnections();
  await product.remove();
  rmSync(crews, { recursive: true });
}
