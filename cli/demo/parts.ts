/** The three parts of the demo. Each starts its work, and shows it later: all run at the same time. */
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { bodyOf, type Postback } from '../../client/index.js';
import { INDEXING_STATUS_TABLE, type IndexingStatus } from '../../domain/content/states.js';
import { isFinalState } from '../../domain/state-machine.js';
import { FileOnDisk } from '../remote/file-on-disk.js';
import { ingestForm } from '../remote/ingest.js';
import { upload } from '../remote/jobs.js';
import { type DemoReceiver, JOB_FAILURES } from './receiver.js';
import { printDone, printFailed, printHeading, printItem, printQuote, printRelations, printWaiting } from './screen.js';

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
const MODEL = 'ocr/ocr_async/tesseract';
const PICTURE = 'notice-board.png';
const CREW = 'support-reply';
const INPUTS = {
  customer_message: 'My parcel with the lamp has not arrived yet. When will it?',
  notes: 'Parcels to the islands leave with the ferry on Tuesday. They arrive on Thursday. Late parcels are free.',
};
const FEEDBACK = 'Good. Thank the customer for waiting.';
/** How long the demo waits for anything: everything takes seconds. */
const TIMEOUT_MS = 180_000;
const POLL_MS = 150;

/** Content: files go in, signed webhooks report them, a query returns hits. @returns the name of the database */
export async function startContent(api: Postback, receiver: DemoReceiver): Promise<string> {
  const database = `demo-${randomBytes(3).toString('hex')}`;
  await bodyOf(api.POST('/databases', { body: { database } }));
  const registration = { url: `${receiver.url}/items`, generate_signing_secret: true } as const;
  receiver.itemSecret = (await bodyOf(api.POST('/webhooks/indexing', { body: registration }))).data.signing_secret!;
  await until('the database', async () => {
    const { data } = await bodyOf(api.GET('/databases/status', { params: { query: { database } } }));
    return data.infra.ready_for_ingestion;
  });
  const documents = FILES.map((name) => new FileOnDisk(join(EXAMPLES, name)));
  await ingestForm(api, { database, documents, document_metadata: JSON.stringify(FILES.map((id) => ({ id }))) });
  return database;
}

/** Prints each item when it has a terminal status, its webhook, and the hits of a query. */
export async function showContent(api: Postback, receiver: DemoReceiver, database: string): Promise<void> {
  printHeading(`Content: ${FILES.length} files`, `database ${database}`);
  const started = Date.now();
  const seen = new Map(FILES.map((id) => [id, [] as IndexingStatus[]]));
  await until('the files', async () => {
    const query = { database, ids: FILES };
    const { statuses } = (await bodyOf(api.GET('/context/status', { params: { query } }))).data;
    for (const { id, indexing_status, error_message } of statuses) {
      const states = seen.get(id)!;
      if (indexing_status === null || states.at(-1) === indexing_status) continue;
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

  const question = { database, query: QUESTION, max_results: 1 };
  const { chunks, graph } = (await bodyOf(api.POST('/query', { body: question }))).data;
  printHeading(QUESTION);
  for (const { source_id, text } of chunks) printQuote(source_id, text, 3);
  printRelations(graph.relations);
}

/** AI jobs: a picture is read, and its callback goes to a receiver that fails at first. @returns the id of the job */
export async function startJob(api: Postback, receiver: DemoReceiver): Promise<string> {
  receiver.publicKey = await bodyOf(api.GET('/v3/ai/webhook-public-key', { parseAs: 'text' }));
  const file = await upload(api, join(EXAMPLES, PICTURE));
  const job = { model: MODEL, input: { file }, webhook_receiver: `${receiver.url}/jobs` };
  return (await bodyOf(api.POST('/v3/ai/async', { body: job }))).job_id;
}

export async function showJob(api: Postback, receiver: DemoReceiver, jobId: string): Promise<void> {
  printHeading(`AI job: read ${PICTURE}`, `${MODEL}; the receiver of its callback fails ${JOB_FAILURES} times`);
  const callback = await until('the callback of the job', () => receiver.jobs.find(({ job_id }) => job_id === jobId));
  const { deliveries } = await until('the record of the callback', async () => {
    const query = { doc_id: jobId, status: 'delivered' } as const;
    const page = await bodyOf(api.GET('/v3/ai/callbacks', { params: { query } }));
    return page.deliveries.length > 0 && page;
  });
  const path = { delivery_id: deliveries[0]!.delivery_id };
  const { attempt_log } = await bodyOf(api.GET('/v3/ai/callbacks/{delivery_id}', { params: { path } }));
  for (const [index, { status_code }] of attempt_log.entries()) {
    const text = `attempt ${index + 1}: the receiver responded with ${status_code}`;
    if (status_code !== null && status_code < 300) printDone(`${text}, RSA signature verified`);
    else printFailed(`${text}, retried when its Retry-After is over`);
  }
  if (callback.status === 'fail') throw new Error(`the job failed: ${callback.error.message}`);
  printQuote('what the picture says', String(callback.output.text), 2);
}

/** Crews: agents draft a reply, a person approves it, and the crew goes on. @returns the id of the execution */
export async function startCrew(api: Postback, receiver: DemoReceiver): Promise<string> {
  const secret = await bodyOf(api.POST('/crews/signing-secret', { body: { generate_signing_secret: true } }));
  receiver.crewSecret = secret.signing_secret!;
  const body = { inputs: INPUTS, ...callbackUrls(receiver) };
  return (await bodyOf(api.POST('/crews/{crew}/kickoff', { params: { path: { crew: CREW } }, body }))).kickoff_id;
}

export async function showCrew(api: Postback, receiver: DemoReceiver, executionId: string): Promise<void> {
  printHeading(`Crew: ${CREW}`, 'classifies a message, drafts a reply, waits for a person');
  const waiting = await until('the draft', () => {
    for (const event of receiver.crewEvents) {
      if (event.event === 'task_pending_human_input' && event.execution_id === executionId) return event;
    }
    return undefined;
  });
  printWaiting(`${waiting.task_id} waits for a person; the callback says so, HMAC-SHA256 verified`);
  printQuote('the draft', String(waiting.output), 2);
  const body = {
    execution_id: executionId,
    task_id: waiting.task_id,
    is_approve: true,
    human_feedback: FEEDBACK,
    // A resume does not keep the URLs of the kickoff.
    ...callbackUrls(receiver),
  };
  await bodyOf(api.POST('/crews/{crew}/resume', { params: { path: { crew: CREW } }, body }));
  printDone(`approved: “${FEEDBACK}”`);
  await until('the end of the crew', () => {
    return receiver.crewEvents.find((event) => event.event === 'crew_completed' && event.execution_id === executionId);
  });
  printDone('the crew has completed, and its last callback is verified');
}

function callbackUrls({ url }: DemoReceiver) {
  return { taskWebhookUrl: `${url}/crews`, crewWebhookUrl: `${url}/crews` };
}

/** Polls until the result is neither false nor undefined. @throws Error after three minutes */
async function until<T>(what: string, poll: () => Promise<T | false | undefined> | T | false | undefined): Promise<T> {
  const deadline = Date.now() + TIMEOUT_MS;
  for (;;) {
    const result = await poll();
    if (result !== false && result !== undefined) return result;
    if (Date.now() > deadline) throw new Error(`the demo waited for ${what} for ${TIMEOUT_MS / 1000} s`);
    await wait(POLL_MS);
  }
}
