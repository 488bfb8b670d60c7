/**
 * Creates a database, ingests a file, waits until it is indexed, and queries it:
 *
 *     POSTBACK_URL=http://127.0.0.1:8080 POSTBACK_API_KEY=… node ask-a-file.js
 */
import { setTimeout as wait } from 'node:timers/promises';
import { bodyOf, createPostback, multipart, PostbackError } from '../index.js';

const { POSTBACK_URL: url = 'http://127.0.0.1:8080', POSTBACK_API_KEY: key = '' } = process.env;
const postback = createPostback({ url, key });
const database = `harbour-${Date.now()}`;

await bodyOf(postback.POST('/databases', { body: { database } }));
while (!(await isReady())) await wait(200);

const file = new File(['# Berths\n\nA night at the north quay costs forty crowns.'], 'berths.md');
const ingested = await bodyOf(
  postback.POST('/context/ingest', {
    body: { database, documents: [file], upsert: 'true' },
    bodySerializer: multipart,
  }),
);
const { id } = ingested.data.results[0]!;
while ((await statusOf(id)) !== 'completed') await wait(500);

const { data } = await bodyOf(postback.POST('/query', { body: { database, query: 'price of a berth', max_results: 3 } }));
for (const { text, score } of data.chunks) console.log(`${score.toFixed(2)} ${text}`);

await bodyOf(postback.DELETE('/databases/{database}', { params: { path: { database } } }));
const missing = await bodyOf(postback.GET('/context/list', { params: { query: { database } } })).catch((error) => error);
if (missing instanceof PostbackError) console.log(`afterwards: ${missing.status} ${missing.code}`);

async function isReady(): Promise<boolean> {
  const { data } = await bodyOf(postback.GET('/databases/status', { params: { query: { database } } }));
  return data.infra.ready_for_ingestion;
}

async function statusOf(id: string): Promise<string | null> {
  const { data } = await bodyOf(postback.GET('/context/status', { params: { query: { database, id } } }));
  const { indexing_status, error_message } = data.statuses[0]!;
  if (indexing_status === 'errored') throw new Error(error_message ?? 'the file could not be indexed');
  return indexing_status;
}
