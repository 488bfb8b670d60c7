/**
 * Records a history of every path through the workflows into `test/histories/`, from real runs on its own servers:
 * `npm run record-histories`, or only some groups: `npm run record-histories -- content crews`. Replaying them shows whether
 * running executions survive a change of the code.
 */
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { historyToJSON } from '@temporalio/common/lib/proto-utils.js';
import { connectTemporal } from '../../temporal/connection.js';
import { createClient } from './client.js';
import { eventually } from './eventually.js';
import { recordAiJobs } from './histories/ai-jobs.js';
import { recordConnectors } from './histories/connectors.js';
import { recordContent } from './histories/content.js';
import { recordCrews } from './histories/crews.js';
import { recordPayments } from './histories/payments.js';
import { recordReconciler } from './histories/reconciler.js';
import type { Recording } from './histories/recording.js';
import { recordWebhooks } from './histories/webhooks.js';
import { closeConnections } from './mongodb.js';
import { startOpenAiServer } from './openai-server.js';
import { makeKey, startProduct } from './product.js';
import { startReceiver } from './receiver.js';

const FOLDER = 'test/histories';

/** Each has a file of its own. */
const GROUPS: Readonly<Record<string, (recording: Recording) => Promise<void>>> = {
  content: recordContent,
  webhooks: recordWebhooks,
  crews: recordCrews,
  'ai-jobs': recordAiJobs,
  payments: recordPayments,
  connectors: recordConnectors,
  reconciler: recordReconciler,
};

/** Fields of events that a replay does not read. */
const UNREAD = new Set(['identity', 'meteringMetadata', 'requestId', 'taskId', 'workerVersion']);

const named = process.argv.slice(2);
const groups = named.length > 0 ? named : Object.keys(GROUPS);
const unknown = groups.filter((group) => !(group in GROUPS));
if (unknown.length > 0)
  throw new Error(`unknown groups ${unknown.join(', ')}; known: ${Object.keys(GROUPS).join(', ')}`);

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

async function newest(query: string): Promise<string> {
  return eventually(query, async () => {
    for await (const execution of temporal.workflow.list({ query })) return execution.workflowId;
    return undefined;
  });
}

/** @returns a line of JSON */
async function historyOf(workflowId: string, runId: string | undefined): Promise<string> {
  const json = historyToJSON(await temporal.workflow.getHandle(workflowId, runId).fetchHistory());
  const history = JSON.parse(json, (name, value) => (UNREAD.has(name) ? undefined : value));
  // Stack traces contain the local folder.
  return JSON.stringify(history).replaceAll(`${process.cwd()}/`, '');
}

async function recordGroup(group: string): Promise<void> {
  const lines: string[] = [];
  const record: Recording['record'] = async (name, workflowId, { runId, open = false } = {}) => {
    const handle = temporal.workflow.getHandle(workflowId, runId);
    if (!open)
      await eventually(`${workflowId} closed`, async () => (await handle.describe()).status.name !== 'RUNNING');
    lines.push(`{"name":${JSON.stringify(name)},"history":${await historyOf(workflowId, runId)}}\n`);
    console.log(`${group}: ${name}  ${workflowId}`);
  };
  const org = `histories-${group}`;
  const { key } = await makeKey(product.mongodbUri, org);
  const api = createClient(product.apiUrl, key);
  await GROUPS[group]!({ org, api, product, temporal, openai, receiver, record, newest });
  mkdirSync(FOLDER, { recursive: true });
  writeFileSync(`${FOLDER}/${group}.ndjson`, lines.join(''));
}

try {
  for (const group of groups) await recordGroup(group);
} finally {
  await temporal.connection.close();
  await receiver.close();
  await openai.close();
  await closeConnections();
  await product.remove();
  rmSync(crews, { recursive: true });
}
