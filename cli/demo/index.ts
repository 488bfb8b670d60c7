import { randomBytes } from 'node:crypto';
import { openAsBlob } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline/promises';
import { setTimeout as wait } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { readConfig } from '../../runtime/config.js';
import { type ApiAccess, call } from '../api-client.js';
import { openDemoInstance } from './instance.js';
import { startDemoReceiver } from './receiver.js';
import { printChunk, printDone, printHeading, printLink, printRelations, printStatus } from './screen.js';

const EXAMPLES = fileURLToPath(new URL('../../../examples', import.meta.url));
/** The file names are the items' ids. */
const FILES = [
  'lighthouse-history.pdf',
  'keeper-handbook.docx',
  'lamp-log.csv',
  'notice-board.png',
  'visitor-notes.md',
];
const QUESTION = 'How often does the lamp of the lighthouse flash?';
const TERMINAL_STATUSES = ['completed', 'errored'];
/** Five files take seconds. */
const TIMEOUT_MS = 180_000;

type DemoReceiver = Awaited<ReturnType<typeof startDemoReceiver>>;

/**
 * `npm run demo`: ingests files, follows their statuses, verifies the signed webhooks and asks a question. Uses the
 * instance that runs in this folder, or starts a temporary one.
 */
export async function demo(): Promise<void> {
  const instance = await openDemoInstance(readConfig(process.env));
  const receiver = await startDemoReceiver();
  try {
    const database = `demo-${randomBytes(3).toString('hex')}`;
    await createDatabase(instance, database);
    await registerReceiver(instance, receiver);
    await ingestFiles(instance, database);
    await showWebhooks(receiver);
    await askQuestion(instance, database);
    if (instance.temporalUiUrl) showLinks(instance.temporalUiUrl, database);
    await call(instance, 'DELETE', '/webhooks/indexing');
    if (instance.isTemporary && process.stdin.isTTY) await waitForEnter();
  } finally {
    await receiver.close();
    await instance.stop();
  }
}

async function createDatabase(api: ApiAccess, database: string): Promise<void> {
  printHeading(`A database named ${database}`);
  await call(api, 'POST', '/databases', { database });
  const status = () => call(api, 'GET', `/databases/status?database=${database}`);
  await until(async () => (await status()).infra.ready_for_ingestion);
  printDone('provisioned by a workflow: graph, full text, vectors');
}

async function registerReceiver(api: ApiAccess, receiver: DemoReceiver): Promise<void> {
  printHeading('A webhook receiver, registered with a generated signing secret');
  const registration = { url: receiver.url, generate_signing_secret: true };
  const { signing_secret: secret } = await call(api, 'POST', '/webhooks/indexing', registration);
  receiver.secret = secret;
  printDone(`${receiver.url}  secret ${secret.slice(0, 10)}… (shown once)`);
}

/** Ingests the files and prints each status of each item until all have a terminal status. */
async function ingestFiles(api: ApiAccess, database: string): Promise<void> {
  printHeading(`${FILES.length} files`);
  const form = new FormData();
  form.set('database', database);
  form.set('document_metadata', JSON.stringify(FILES.map((id) => ({ id }))));
  for (const name of FILES) form.append('documents', await openAsBlob(join(EXAMPLES, name)), name);
  await call(api, 'POST', '/context/ingest', form);

  const printed = new Map<string, string>();
  await until(async () => {
    const { statuses } = await call(api, 'GET', `/context/status?database=${database}&ids=${FILES.join(',')}`);
    for (const { id, indexing_status, error_message } of statuses) {
      if (printed.get(id) === indexing_status) continue;
      printed.set(id, indexing_status);
      printStatus(id, indexing_status, error_message);
    }
    return FILES.every((id) => TERMINAL_STATUSES.includes(printed.get(id) ?? ''));
  });
}

async function showWebhooks(receiver: DemoReceiver): Promise<void> {
  printHeading('Webhooks, verified by the receiver library');
  await until(async () => FILES.every((id) => receiver.events.some((event) => event.id === id)));
  for (const { id, status, delivery_id } of receiver.events) printDone(`${id.padEnd(24)} ${status}  ${delivery_id}`);
  if (receiver.rejected > 0) throw new Error(`${receiver.rejected} webhooks with a wrong signature`);
}

async function askQuestion(api: ApiAccess, database: string): Promise<void> {
  printHeading(QUESTION);
  const { chunks, graph } = await call(api, 'POST', '/query', { database, query: QUESTION, max_results: 3 });
  for (const { source_id, score, text } of chunks) printChunk(source_id, score, text);
  printRelations(graph.relations);
}

function showLinks(temporalUiUrl: string, database: string): void {
  printHeading('The same in the Temporal UI');
  const workflows = (query: string) =>
    `${temporalUiUrl}/namespaces/default/workflows?query=${encodeURIComponent(query)}`;
  printLink('items', workflows(`PostbackDatabase="${database}"`));
  printLink('deliveries', workflows('WorkflowType="deliverWebhook"'));
}

/** Keeps a temporary instance until the user has looked at its links. */
async function waitForEnter(): Promise<void> {
  const prompt = createInterface({ input: process.stdin, output: process.stdout });
  await prompt.question('\n  The links work until you press Enter. ').finally(() => prompt.close());
}

async function until(condition: () => Promise<boolean>): Promise<void> {
  const deadline = Date.now() + TIMEOUT_MS;
  while (!(await condition())) {
    if (Date.now() > deadline) throw new Error(`the demo took longer than ${TIMEOUT_MS / 1000} s`);
    await wait(150);
  }
}
