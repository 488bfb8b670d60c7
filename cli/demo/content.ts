/** The part of the demo about content: files go in, signed webhooks report them, a query returns hits. */
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { INDEXING_STATUS_TABLE, type IndexingStatus } from '../../domain/content/states.js';
import { isFinalState } from '../../domain/state-machine.js';
import { type ApiAccess, call } from '../api-client.js';
import { FileOnDisk } from '../remote/file-on-disk.js';
import type { DemoReceiver } from './receiver.js';
import { printDone, printHeading, printItem, printQuote, printRelations } from './screen.js';
import { until } from './until.js';

export const EXAMPLES = fileURLToPath(new URL('../../../examples', import.meta.url));
/** The file names are the items' ids. */
const FILES = [
  'lighthouse-history.pdf',
  'keeper-handbook.docx',
  'lamp-log.csv',
  'notice-board.png',
  'visitor-notes.md',
];
const QUESTION = 'How often does the lamp of the lighthouse flash?';

/** @returns the name of the database */
export async function startContent(api: ApiAccess, receiver: DemoReceiver): Promise<string> {
  const database = `demo-${randomBytes(3).toString('hex')}`;
  await call(api, 'POST', '/databases', { database });
  const registration = { url: `${receiver.url}/items`, generate_signing_secret: true };
  receiver.itemSecret = (await call(api, 'POST', '/webhooks/indexing', registration)).signing_secret;
  await until('the database', async () => {
    return (await call(api, 'GET', `/databases/status?database=${database}`)).infra.ready_for_ingestion as boolean;
  });
  const form = new FormData();
  form.set('database', database);
  form.set('document_metadata', JSON.stringify(FILES.map((id) => ({ id }))));
  for (const name of FILES) form.append('documents', new FileOnDisk(join(EXAMPLES, name)));
  await call(api, 'POST', '/context/ingest', form);
  return database;
}

/** Prints each item when it has a terminal status, its webhook, and the hits of a query. */
export async function showContent(api: ApiAccess, receiver: DemoReceiver, database: string): Promise<void> {
  printHeading(`Content: ${FILES.length} files`, `database ${database}`);
  const started = Date.now();
  const seen = new Map(FILES.map((id) => [id, [] as IndexingStatus[]]));
  await until('the files', async () => {
    const { statuses } = await call(api, 'GET', `/context/status?database=${database}&ids=${FILES.join(',')}`);
    for (const { id, indexing_status, error_message } of statuses) {
      const states = seen.get(id)!;
      if (states.at(-1) === indexing_status) continue;
      states.push(indexing_status);
      const seconds = (Date.now() - started) / 1000;
      if (isFinalState(INDEXING_STATUS_TABLE, indexing_status)) printItem(id, states, seconds, error_message);
    }
    return [...seen.values()].every((states) => isFinalState(INDEXING_STATUS_TABLE, states.at(-1) ?? 'queued'));
  });
  const verified = await until('the webhooks', () => {
    const ids = FILES.filter((id) => receiver.items.some((event) => event.id === id));
    return ids.length === FILES.length && ids;
  });
  printDone(`${verified.length} webhooks received, HMAC-SHA256 verified`);

  const { chunks, graph } = await call(api, 'POST', '/query', { database, query: QUESTION, max_results: 1 });
  printHeading(QUESTION);
  for (const { source_id, text } of chunks) printQuote(source_id, text, 3);
  printRelations(graph.relations);
}
