import { randomBytes } from 'node:crypto';
import { openAsBlob } from 'node:fs';
import { basename, join } from 'node:path';
import { createInterface } from 'node:readline/promises';
import { setTimeout as wait } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { readConfig } from '../runtime/config.js';
import { DemoApi } from './demo-api.js';
import { demoInstance } from './demo-instance.js';
import { startDemoReceiver } from './demo-receiver.js';
import * as screen from './demo-screen.js';

const EXAMPLES = fileURLToPath(new URL('../../examples', import.meta.url));
const FILES = [
  'lighthouse-history.pdf',
  'keeper-handbook.docx',
  'lamp-log.csv',
  'notice-board.png',
  'visitor-notes.md',
];
const QUESTION = 'How often does the lamp of the lighthouse flash?';
const TERMINAL = ['completed', 'errored'];
/** Five files take seconds; something is wrong after this. */
const PATIENCE_MS = 180_000;

/**
 * `npm run demo`: files in, statuses as they move, signed webhooks out and verified, one question answered. Uses the
 * instance that runs in this folder, or starts one of its own for the time being.
 */
export async function demo(): Promise<void> {
  const instance = await demoInstance(readConfig(process.env));
  const receiver = await startDemoReceiver();
  const api = new DemoApi(instance.file.api_url, instance.key);
  try {
    const database = `demo-${randomBytes(3).toString('hex')}`;
    screen.heading(`A database named ${database}`);
    await api.call('POST', '/databases', { database });
    await until(
      async () => (await api.call('GET', `/databases/status?database=${database}`)).infra.ready_for_ingestion,
    );
    screen.done('provisioned by a workflow: graph, full text, vectors');

    screen.heading('A receiver, registered with a generated secret');
    const registration = await api.call('POST', '/webhooks/indexing', {
      url: receiver.url,
      generate_signing_secret: true,
    });
    receiver.secret = registration.signing_secret;
    screen.done(`${receiver.url}  secret ${registration.signing_secret.slice(0, 10)}… (shown once)`);

    screen.heading(`${FILES.length} files`);
    const ids = FILES.map((name) => basename(name));
    const form = new FormData();
    form.set('database', database);
    form.set('document_metadata', JSON.stringify(ids.map((id) => ({ id }))));
    for (const name of FILES) form.append('documents', await openAsBlob(join(EXAMPLES, name)), name);
    await api.upload('/context/ingest', form);
    await follow(api, database, ids);

    screen.heading('Webhooks, their signatures verified by the receiver library');
    await until(async () => ids.every((id) => receiver.received.some((event) => event.id === id)));
    for (const event of receiver.received) screen.done(`${event.id.padEnd(24)} ${event.status}  ${event.delivery_id}`);
    if (receiver.refused > 0) throw new Error(`${receiver.refused} webhooks with a wrong signature`);

    screen.heading(QUESTION);
    const { chunks, graph } = await api.call('POST', '/query', { database, query: QUESTION, max_results: 3 });
    for (const chunk of chunks) screen.answer(chunk.source_id, chunk.score, chunk.text);
    screen.relations(graph.relations);

    const ui = instance.file.temporal_ui_url;
    if (ui) {
      screen.heading('The same in the Temporal UI');
      const query = (text: string) => `${ui}/namespaces/default/workflows?query=${encodeURIComponent(text)}`;
      screen.link('items', query(`PostbackDatabase="${database}"`));
      screen.link('deliveries', query('WorkflowType="deliverWebhook"'));
    }
    await api.call('DELETE', '/webhooks/indexing');
    if (instance.own && process.stdin.isTTY) await enterPressed();
  } finally {
    await receiver.close();
    await instance.stop();
  }
}

/** The demo's own instance stays until its links have been looked at. */
async function enterPressed(): Promise<void> {
  const prompt = createInterface({ input: process.stdin, output: process.stdout });
  await prompt.question('\n  The links work until you press Enter. ').finally(() => prompt.close());
}

/** Shows every status of every item as it changes, until all have ended. */
async function follow(api: DemoApi, database: string, ids: readonly string[]): Promise<void> {
  const shown = new Map<string, string>();
  await until(async () => {
    const { statuses } = await api.call('GET', `/context/status?database=${database}&ids=${ids.join(',')}`);
    for (const { id, indexing_status, error_message } of statuses) {
      if (shown.get(id) === indexing_status) continue;
      shown.set(id, indexing_status);
      screen.status(id, indexing_status, error_message);
    }
    return ids.every((id) => TERMINAL.includes(shown.get(id) ?? ''));
  });
}

async function until(condition: () => Promise<boolean>): Promise<void> {
  const deadline = Date.now() + PATIENCE_MS;
  while (!(await condition())) {
    if (Date.now() > deadline) throw new Error('the demo waited in vain; the logs in the data folder may tell why');
    await wait(150);
  }
}
