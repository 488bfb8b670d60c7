import { randomUUID } from 'node:crypto';
import { eventually } from '../eventually.js';
import { createJobClient } from '../job-client.js';
import { sendJson } from '../openai-server.js';
import { makeKey, withDb } from '../product.js';
import { reconcile } from '../reconcile.js';
import { noteOf, type Recording } from './recording.js';

/** Records the ways of AI jobs. */
export async function recordAiJobs({ org, product, openai, record }: Recording): Promise<void> {
  const { key } = await makeKey(product.mongodbUri, org);
  const jobs = createJobClient(product.apiUrl, key);
  const job = await jobs.submit('text/sentiment_analysis/wink', { text: noteOf('is fine') });
  await jobs.finished(job);
  await record('run-ai-jobs-at-once', `ai-job/${job.body.job_id}`);

  // As if the process had died that was to start them: the reconciler starts the group. One has lost a run before.
  await withDb(product.mongodbUri, async (db) => {
    const done = (await db.collection('ai_jobs').findOne({ _id: job.body.job_id }))!;
    const waiting = { ...done, status: 'queued', quick: true, group: 'grp_recorded', check_at: new Date(0) };
    const members = [0, 1].map((runs) => ({ ...waiting, _id: randomUUID(), runs }));
    await db.collection<{ _id: string }>('ai_jobs').insertMany(members);
  });
  await reconcile(product);
  await record('run-ai-jobs-together', `ai-jobs/${org}/grp_recorded`);

  const chat = { messages: [{ role: 'user', content: noteOf('asks') }] };
  let requests = openai.requests.length;
  openai.respondWith((_request, response) =>
    sendJson(response, {}, openai.requests.length === requests + 1 ? 503 : 400),
  );
  const failing = await jobs.submit('text/chat/openai', chat);
  await jobs.finished(failing);
  await record('run-ai-jobs-fail', `ai-job/${failing.body.job_id}`);

  openai.respondWith(() => undefined);
  requests = openai.requests.length;
  const cancelled = await jobs.submit('text/chat/openai', chat);
  await eventually('a request to the provider', () => openai.requests.length > requests);
  await jobs.request('DELETE', `/v3/ai/async/${cancelled.body.job_id}`);
  await jobs.finished(cancelled);
  await record('run-ai-jobs-cancelled', `ai-job/${cancelled.body.job_id}`);
}
