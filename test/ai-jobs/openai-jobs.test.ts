import { beforeEach, describe, expect, test } from '@jest/globals';
import { historyToJSON } from '@temporalio/common/lib/proto-utils.js';
import { createAiJobs } from '../../storage/ai-jobs/jobs.js';
import { createOrganisations } from '../../storage/organisations.js';
import { createStarters } from '../../temporal/starters.js';
import {
  collectionsDuringTests,
  duringTests,
  jobClientDuringTests,
  processesDuringTests,
  receiverDuringTests,
  temporalDuringTests,
} from '../support/during-tests.js';
import { eventually } from '../support/eventually.js';
import { createJobClient } from '../support/job-client.js';
import { sendCompletion, sendJson, startOpenAiServer } from '../support/openai-server.js';
import { clientOf } from '../support/organisation.js';
import { databaseBeside, makeKey, sharedProduct } from '../support/product.js';
import { aiJobRecord } from '../support/records.js';

const NAME = 'openai-jobs';

// The shared product has no such server.
describe('AI jobs of an OpenAI-compatible server', () => {
  const org = NAME;
  const CHAT = 'text/chat/openai';
  const question = { messages: [{ role: 'user', content: 'What is the colour of the heron?' }] };
  const openai = duringTests(startOpenAiServer);
  const product = processesDuringTests(NAME, () => ({
    POSTBACK_OPENAI_URL: openai.baseUrl,
    POSTBACK_OPENAI_KEY: 'sk-very-secret',
    POSTBACK_OPENAI_CHAT_MODEL: 'small',
    POSTBACK_OPENAI_MODELS: 'large, vendor/huge:2',
    POSTBACK_OPENAI_MAX_TOKENS: '500',
  }));
  const api = jobClientDuringTests(org, product);
  const receiver = receiverDuringTests();
  const collections = collectionsDuringTests(databaseBeside(sharedProduct().mongodbUri, NAME));
  const temporal = temporalDuringTests(NAME);
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

  test('a model or a number of tokens that is not allowed is rejected, and costs no request', async () => {
    openai.respondWith((_request, response) => sendCompletion(response, 'Grey.'));
    for (const [model, input, message] of [
      [`${CHAT}/dearest`, question, /^model: .*no model "dearest"/],
      [CHAT, { ...question, max_tokens: 501 }, /^input\.max_tokens: must not exceed 500$/],
    ] as const) {
      const { status, body } = await api.submit(model, input);
      expect([status, body.error]).toEqual([
        422,
        { code: 'VALIDATION_ERROR', message: expect.stringMatching(message) },
      ]);
    }
    await api.finished(await api.submit(`${CHAT}/vendor/huge:2`, { ...question, max_tokens: 500 }));
    await api.finished(await api.submit(CHAT, question));
    expect(openai.requests.map((request) => [request.json().model, request.json().max_tokens])).toEqual([
      ['vendor/huge:2', 500],
      ['small', 500],
    ]);
    const { models } = (await api.get('/v3/ai/models')).body;
    expect(models.find(({ model }: { model: string }) => model === CHAT).provider_models).toEqual({
      default: 'small',
      known: ['small', 'large', 'vendor/huge:2'],
      max_tokens: 500,
    });
  });

  test('a permanent error of a provider fails the job, and neither its message nor its history reveals a secret', async () => {
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
    const { job_id } = submitted.body;
    expect(await api.request('DELETE', path)).toMatchObject({ status: 202, body: { job_id, status: 'cancelling' } });
    expect(await api.finished(submitted)).toMatchObject({
      status: 'fail',
      error: { code: 'cancelled', message: 'The job was cancelled.' },
    });
    await closed;
    // The specification gives the error of a callback a message, and nothing else.
    const request = await receiver.waitFor('the callback', ({ json }) => json.job_id === job_id);
    expect(request.json).toMatchObject({ status: 'fail', error: { message: 'The job was cancelled.' } });
    expect(Object.keys(request.json.error as object)).toEqual(['message']);
    const { jobs } = (await api.get('/v3/ai/async?status=fail')).body;
    expect(jobs).toContainEqual(expect.objectContaining({ job_id, error: expect.objectContaining({ code: 'cancelled' }) })); // biome-ignore format: one line
  });

  test('a job that succeeds after its cancellation was requested ends as cancelled', async () => {
    let cancelled = (): void => undefined;
    const requested = new Promise<void>((resolve) => {
      cancelled = resolve;
    });
    openai.respondWith((_request, response) => void requested.then(() => sendCompletion(response, 'Grey.')));
    const submitted = await api.submit(CHAT, question, { show_original_response: true });
    await eventually('a request to the provider', () => openai.requests.length === 1);
    await api.request('DELETE', `/v3/ai/async/${submitted.body.job_id}`);
    cancelled();
    const job = await api.finished(submitted);
    expect(job).toMatchObject({ status: 'fail', error: { code: 'cancelled' } });
    expect(job).not.toHaveProperty('output');
    expect(job).not.toHaveProperty('original_response');
  });

  test('tokens are counted by day; when they are used up, jobs are rejected, and queued jobs fail without a call', async () => {
    const org = 'openai-tokens';
    const client = createJobClient(product.apiUrl, (await makeKey(product.mongodbUri, org)).key);
    await createOrganisations(collections).setLimits(org, { model_tokens: 30 });
    openai.respondWith((_request, response) => sendCompletion(response, 'Grey.'));
    for (const used of [17, 34]) {
      expect((await client.finished(await client.submit(CHAT, question))).status).toBe('success');
      expect((await (await clientOf(org, product)).get('/usage')).body.data.model_tokens).toMatchObject({
        used,
        limit: 30,
      });
    }
    const rejected = await client.submit(CHAT, question);
    expect([rejected.status, rejected.body.error.code]).toEqual([429, 'RATE_LIMITED']);
    expect(rejected.body.error.message).toMatch(/model_tokens .* 34 of 30 are in use until .*T00:00:00.000Z/);
    const wait = Number(rejected.headers.get('retry-after'));
    expect(wait).toBeGreaterThan(0);
    expect(wait).toBeLessThanOrEqual(24 * 60 * 60);
    // Other providers use no tokens.
    expect((await client.submit('text/summarize/wink', { text: 'A heron stands. It is grey.' })).status).toBe(202);

    openai.requests.length = 0;
    const job = aiJobRecord({ org, subfeature: 'chat', provider: 'openai', input: JSON.stringify(question), now: new Date(), time_limit_ms: 60_000 }); // biome-ignore format: one line
    await createAiJobs(collections, 60_000).add(job);
    await createStarters(temporal).startJobs([job]);
    await eventually('the job failed', async () =>
      (await stored(job._id))?.error_message?.includes('model_tokens of the organisation is exceeded'),
    );
    expect(openai.requests).toHaveLength(0);
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
    await createStarters(temporal).startJobs([job]);
    const message = 'The job exceeded its time limit.';
    await eventually('the job failed', async () => (await stored(job._id))?.error_message === message);
  });
});
