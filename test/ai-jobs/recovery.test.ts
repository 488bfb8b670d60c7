import { readdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import type { Client as TemporalClient } from '@temporalio/client';
import { historyToJSON } from '@temporalio/common/lib/proto-utils.js';
import { createAiJobs } from '../../storage/ai-jobs/jobs.js';
import { type Collections, connectCollections } from '../../storage/collections.js';
import { connectTemporal } from '../../temporal/connection.js';
import { createStarters } from '../../temporal/starters.js';
import { scan, scannedPdf } from '../fixtures/scanned-files.js';
import { eventually } from '../support/eventually.js';
import { createJobClient, type JobClient } from '../support/job-client.js';
import { type OpenAiServer, sendCompletion, sendJson, startOpenAiServer } from '../support/openai-server.js';
import { makeKey, type Product, startProduct } from '../support/product.js';
import { type Receiver, startReceiver } from '../support/receiver.js';
import { aiJobRecord } from '../support/records.js';

// Kills processes, so it starts its own product.
describe('AI jobs during failures', () => {
  const org = 'job-recovery';
  const CHAT = 'text/chat/openai';
  const question = { messages: [{ role: 'user', content: 'What is the colour of the heron?' }] };
  let product: Product;
  let api: JobClient;
  let openai: OpenAiServer;
  let receiver: Receiver;
  let collections: Collections;
  let temporal: TemporalClient;

  beforeAll(async () => {
    openai = await startOpenAiServer();
    product = await startProduct({
      POSTBACK_OPENAI_URL: openai.baseUrl,
      POSTBACK_OPENAI_KEY: 'sk-very-secret',
      POSTBACK_OPENAI_CHAT_MODEL: 'small',
      POSTBACK_RECONCILE_SECONDS: '2',
    });
    api = createJobClient(product.apiUrl, (await makeKey(product.mongodbUri, org)).key);
    receiver = await startReceiver();
    collections = await connectCollections(product.mongodbUri, 'postback-test');
    temporal = await connectTemporal(product.temporalAddress, 'default');
  });
  afterAll(async () => {
    await temporal?.connection.close();
    await collections?.mongoClient.close();
    await receiver?.close();
    await openai?.close();
    await product?.remove();
  });
  beforeEach(() => {
    openai.requests.length = 0;
  });

  const stored = (jobId: string) => collections.aiJobs.findOne({ _id: jobId });
  const history = async (jobId: string) =>
    historyToJSON(await temporal.workflow.getHandle(`ai-job/${jobId}`).fetchHistory());

  test('transient errors of a provider are retried, and the job succeeds', async () => {
    openai.respondWith((_request, response) => {
      if (openai.requests.length < 3) sendJson(response, { error: { message: 'overloaded' } }, 503);
      else sendCompletion(response, 'Grey.');
    });
    const submitted = await api.submit(`${CHAT}/large`, question, { show_original_response: true });
    expect(submitted.body).toMatchObject({ provider: 'openai', model: 'large' });
    expect(await api.finished(submitted)).toMatchObject({
      status: 'success',
      model: 'large',
      output: { text: 'Grey.', finish_reason: 'stop' },
      original_response: { object: 'chat.completion' },
    });
    expect(openai.requests).toHaveLength(3);
  });

  test('a lasting error of a provider fails the job, and neither its message nor its history reveals a secret', async () => {
    openai.respondWith((_request, response) =>
      sendJson(response, { error: { message: 'bad key sk-very-secret' } }, 401),
    );
    const submitted = await api.submit(CHAT, question, { webhook_receiver: `${receiver.url}?token=hush`, user_webhook_parameters: { private: 'note' } }); // biome-ignore format: one line
    const job = await api.finished(submitted);
    expect(job).toMatchObject({ status: 'fail', error: { message: expect.any(String) } });
    expect(openai.requests).toHaveLength(1);
    await receiver.waitFor('the callback', ({ json }) => json.job_id === job.job_id);
    const payloads = [...(await history(job.job_id)).matchAll(/"data": ?"([A-Za-z0-9+/=]+)"/g)].map(([, data]) => Buffer.from(data!, 'base64').toString()); // biome-ignore format: one line
    expect(payloads.join()).toContain(job.job_id);
    for (const text of [job.error.message, await history(job.job_id), payloads.join()]) {
      for (const secret of ['sk-very-secret', 'heron', 'hush', 'private', openai.baseUrl])
        expect(text).not.toContain(secret);
    }
  });

  test('a running job that is cancelled ends as fail, sends its callback, and disconnects from its provider', async () => {
    const closed = new Promise<void>((resolve) => {
      openai.respondWith((_request, response) => void response.once('close', resolve));
    });
    const submitted = await api.submit(CHAT, question, { webhook_receiver: receiver.url });
    await eventually('a request to the provider', () => openai.requests.length === 1);
    // UUIDs are case-insensitive.
    const path = `/v3/ai/async/${submitted.body.job_id.toUpperCase()}`;
    expect((await api.get(path)).body).toMatchObject({ status: 'processing' });
    expect(await api.request('DELETE', path)).toMatchObject({ status: 202 });
    expect(await api.finished(submitted)).toMatchObject({
      status: 'fail',
      error: { message: 'The job was cancelled.' },
    });
    await closed;
    const request = await receiver.waitFor('the callback', ({ json }) => json.job_id === submitted.body.job_id);
    expect(request.json).toMatchObject({ status: 'fail', error: { message: 'The job was cancelled.' } });
  });

  test('a job that exceeds its time limit ends as fail', async () => {
    openai.respondWith(() => undefined);
    const job = aiJobRecord({
      org,
      now: new Date(),
      subfeature: 'chat',
      provider: 'openai',
      input: JSON.stringify(question),
      time_limit_ms: 1_000,
    });
    await createAiJobs(collections, 60_000).add(job);
    await createStarters(temporal).startJob(job);
    const message = 'The job exceeded its time limit.';
    await eventually('the job failed', async () => (await stored(job._id))?.error_message === message);
  });

  test('the reconciler starts the workflow of a job, cancelled or not, whose process died before it did', async () => {
    const now = new Date();
    const [lost, cancelled] = [aiJobRecord({ org, now }), aiJobRecord({ org, now, cancel_requested: true })];
    await collections.aiJobs.insertMany([lost, cancelled]);
    await eventually('the lost job succeeded', async () => (await stored(lost._id))?.status === 'success');
    await eventually('the other job cancelled', async () => (await stored(cancelled._id))?.status === 'fail');
    expect((await stored(cancelled._id))?.error_message).toBe('The job was cancelled.');
  });

  test('kill -9 of the worker during a scan: the job continues after the pages that were read', async () => {
    const lines = ['one', 'two', 'three', 'four', 'five', 'six'].map((word) => [`This is page ${word} of the log`, 'The lamp was lit at dusk']); // biome-ignore format: one line
    const pages = await Promise.all(lines.map((page) => scan(page)));
    const upload = await api.upload('log.pdf', scannedPdf(pages));
    const submitted = await api.submit('ocr/ocr_async/tesseract', { file: upload.body.file_id });
    const job = submitted.body.job_id;
    await eventually(
      'some pages read',
      async () => (await collections.checkpoints.countDocuments({ owner: job })) >= 2,
    );
    const before = await collections.checkpoints.find({ owner: job }).toArray();
    const killed = product.worker.pid();
    /** The killed worker's temporary folders. */
    const folders = () => readdirSync(tmpdir()).filter((name) => name.split('.')[2] === String(killed));
    expect(folders()).toHaveLength(1);
    process.kill(killed, 'SIGKILL');
    const finished = await api.finished(submitted);
    expect(finished).toMatchObject({ status: 'success', output: { number_of_pages: 6 } });
    const words = ['one', 'two', 'three', 'four', 'five', 'six'];
    expect(finished.output.pages.map(({ text }: { text: string }) => /page (\w+)/.exec(text)?.[1])).toEqual(words);
    // Pages that were read before are in the result unchanged, and their checkpoints are deleted.
    for (const { value } of before) expect(finished.output.pages).toContainEqual(JSON.parse(value));
    await eventually(
      'checkpoints removed',
      async () => (await collections.checkpoints.countDocuments({ owner: job })) === 0,
    );
    expect(folders()).toEqual([]);
  });
});
