import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { beforeEach, describe, expect, test } from '@jest/globals';
import proto from '@temporalio/proto';
import type { Collection } from 'mongodb';
import { newDeliveryId } from '../../domain/ids.js';
import { verifyJobCallback } from '../../receiver/index.js';
import type { AiJobRecord } from '../../storage/ai-jobs/job-record.js';
import { connectTemporal } from '../../temporal/connection.js';
import { duringTests, jobClientDuringTests, receiverDuringTests } from '../support/during-tests.js';
import { eventually } from '../support/eventually.js';
import { startHttpServer } from '../support/http-server.js';
import { createJobClient } from '../support/job-client.js';
import { clientOf } from '../support/organisation.js';
import { makeKey, sharedProduct, withDb } from '../support/product.js';
import { pythonWithCryptography } from '../support/python.js';
import { reconcile } from '../support/reconcile.js';
import { aiJobRecord } from '../support/records.js';

const { EventType } = proto.temporal.api.enums.v1;
const SENTIMENT = 'text/sentiment_analysis/wink';
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

/** What the test reads of the API document. */
interface Document {
  webhooks: { async_job_completed: { post: { parameters: { name: string }[] } } };
}

describe('AI jobs', () => {
  const { apiUrl, mongodbUri } = sharedProduct();
  const api = jobClientDuringTests('jobs');
  const receiver = receiverDuringTests();
  beforeEach(() => {
    receiver.received.length = 0;
    receiver.respond = () => ({ status: 204 });
  });
  const callbackOf = (jobId: string) => receiver.waitFor('the callback', ({ json }) => json.job_id === jobId);

  test('a callback carries the headers of its job, which are stored sealed', async () => {
    const webhook_headers = { Authorization: 'Bearer of the gateway' };
    const text = 'I love this lighthouse.';
    const { body } = await api.submit(SENTIMENT, { text }, { webhook_receiver: receiver.url, webhook_headers });
    expect((await callbackOf(body.job_id)).headers).toMatchObject({
      authorization: 'Bearer of the gateway',
      'x-service-signature': expect.any(String),
    });
    const stored = await withDb(mongodbUri, (db) =>
      db.collection<AiJobRecord>('ai_jobs').findOne({ _id: body.job_id }),
    );
    expect(stored?.headers?.names).toEqual(['Authorization']);
    expect(JSON.stringify(stored)).not.toContain('gateway');
    const alone = await api.submit(SENTIMENT, { text }, { webhook_headers });
    expect(alone).toMatchObject({
      status: 422,
      body: { error: { message: 'webhook_headers: needs a webhook_receiver' } },
    });
    const ours = { 'X-Service-Signature': '00' };
    expect(
      await api.submit(SENTIMENT, { text }, { webhook_receiver: receiver.url, webhook_headers: ours }),
    ).toMatchObject({
      status: 422,
    });
  });

  test('a job is queued, runs, is polled, and has a callback with the headers and payload of the specification', async () => {
    const submitted = await api.submit(
      SENTIMENT,
      { text: 'I love this lighthouse.' },
      { webhook_receiver: receiver.url },
    );
    expect(submitted.status).toBe(202);
    expect(submitted.body).toEqual({
      job_id: expect.stringMatching(UUID),
      status: 'queued',
      created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      feature: 'text',
      subfeature: 'sentiment_analysis',
      provider: 'wink',
      model: null,
    });
    const { job_id, created_at } = submitted.body;
    const request = await callbackOf(job_id);
    expect(request.headers).toMatchObject({
      'content-type': 'application/json',
      'user-agent': 'Postback-Webhook/1.0',
      'x-service-webhook': 'true',
      'x-service-signature': expect.stringMatching(/^[0-9a-f]{768}$/),
      'x-service-hash-algorithm': 'SHA256',
      'webhook-id': expect.stringMatching(/^dlv_/),
      'webhook-timestamp': expect.stringMatching(/^\d{10}$/),
    });
    const document = (await (await fetch(`${apiUrl}/openapi.json`)).json()) as Document;
    const { parameters } = document.webhooks.async_job_completed.post;
    const documented = parameters.map(({ name }) => name.toLowerCase());
    const sent = Object.keys(request.headers).filter((name) => /^(webhook|x)-/.test(name));
    expect(sent.sort()).toEqual(documented.sort());
    const keyId = String(request.headers['x-service-key-id']);
    const publicKey = await api.get(`/v3/ai/webhook-public-key?key_id=${keyId}`);
    expect([publicKey.status, publicKey.text]).toEqual([200, expect.stringMatching(/^-----BEGIN PUBLIC KEY-----/)]);
    expect((await api.get('/v3/ai/webhook-public-key?key_id=none')).status).toBe(404);
    expect(request.json).toEqual({
      event: 'async_job_completed',
      job_id,
      status: 'success',
      feature: 'text',
      subfeature: 'sentiment_analysis',
      provider: 'wink',
      model: null,
      created_at,
      finished_at: expect.any(String),
      output: expect.objectContaining({ sentiment: 'positive' }),
    });
    const { event: _event, ...rest } = request.json;
    const workflow = `ai-job/${job_id}`;
    expect((await api.get(`/v3/ai/async/${job_id}`)).body).toEqual({
      ...rest,
      subject: 'I love this lighthouse.',
      workflow,
    });
    const pem = (await api.get('/v3/ai/webhook-public-key')).text;
    expect(verifyJobCallback(request.body, request.headers, pem)).toMatchObject({ job_id });
  });

  test('parameters are returned exactly as they were sent, and the signature verifies in Python for a rebuilt body', async () => {
    const parameters =
      '{"z":1.0,"id":12345678901234567890,"a":{"ü":"\\u2028\\ud83d\\ude00","$set":{"a.b":-0.0}},"":[],"__proto__":{}}';
    const body = `{"model":"${SENTIMENT}","input":{"text":"Fine."},"webhook_receiver":"${receiver.url}","user_webhook_parameters":${parameters}}`; // biome-ignore format: one line
    const submitted = await api.request('POST', '/v3/ai/async', body);
    expect(submitted.status).toBe(202);
    const request = await callbackOf(submitted.body.job_id);
    expect(request.body.toString()).toContain('"z": 1.0');
    expect(request.body.toString()).toContain('"id": 12345678901234567890');
    expect(request.json.user_parameters).toEqual(JSON.parse(parameters));
    expect((await api.get(`/v3/ai/async/${submitted.body.job_id}`)).text).toContain('"id": 12345678901234567890');
    const verify = `
import hashlib, json, sys
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import padding
key = serialization.load_pem_public_key(sys.argv[1].encode())
rebuilt = json.dumps(json.loads(sys.stdin.buffer.read()), sort_keys=True, indent=2, ensure_ascii=False).encode()
digest = hashlib.sha256(rebuilt).hexdigest().encode()
key.verify(bytes.fromhex(sys.argv[2]), digest, padding.PKCS1v15(), hashes.SHA256())
print('verified')`;
    const pem = (await api.get('/v3/ai/webhook-public-key')).text;
    const args = ['-c', verify, pem, String(request.headers['x-service-signature'])];
    expect(execFileSync(pythonWithCryptography(), args, { input: request.body }).toString().trim()).toBe('verified');
  });

  test('a job uses an uploaded file, and has the original response only on request', async () => {
    const upload = await api.upload('report.pdf', readFileSync('test/fixtures/report.pdf'));
    expect(upload.status).toBe(201);
    expect(upload.body).toEqual({
      file_id: expect.stringMatching(/^fil_/),
      filename: 'report.pdf',
      size: readFileSync('test/fixtures/report.pdf').length,
      mime_type: 'application/pdf',
      expires_at: expect.any(String),
    });
    const input = { file: upload.body.file_id };
    const plain = await api.finished(await api.submit('document/text_extraction/local', input));
    expect(plain).toMatchObject({ status: 'success', output: { sections: expect.any(Array) } });
    expect(plain.output.text.length).toBeGreaterThan(100);
    expect(plain).not.toHaveProperty('original_response');
    expect(plain).not.toHaveProperty('user_parameters');
    const shown = await api.finished(await api.submit(SENTIMENT, input, { show_original_response: true }));
    // The library's own result.
    expect(shown).toMatchObject({ status: 'success', original_response: { sentences: expect.any(Array) } });
    expect(shown.original_response).not.toEqual(shown.output);
  });

  test('a field of the input that is null is not given', async () => {
    const ended = await api.finished(await api.submit('text/summarize/wink', { text: 'Fine. Well.', sentences: null }));
    expect(ended.status).toBe('success');
  });

  test('jobs are told apart by the name of their file, or the beginning of their text', async () => {
    const lister = createJobClient(apiUrl, (await makeKey(mongodbUri, 'job-subjects')).key);
    const { body } = await lister.upload('note.txt', Buffer.from('Rain again.'));
    const ofFile = await lister.finished(await lister.submit(SENTIMENT, { file: body.file_id }));
    expect(ofFile.subject).toBe('note.txt');
    await lister.finished(await lister.submit(SENTIMENT, { text: `Rain\n again. ${'𝒳'.repeat(200)}` }));
    const { jobs } = (await lister.get('/v3/ai/async')).body;
    expect(jobs.map(({ subject }: { subject: string }) => subject)).toEqual([
      `Rain again. ${'𝒳'.repeat(87)}…`,
      'note.txt',
    ]);
  });

  test('the text of a picture is recognised', async () => {
    const upload = await api.upload('sign.png', readFileSync('examples/notice-board.png'));
    const job = await api.finished(await api.submit('ocr/ocr_async/tesseract', { file: upload.body.file_id }));
    expect(job).toMatchObject({ status: 'success', output: { number_of_pages: 1 } });
    expect(job.output.text).toContain('The tower has 142 steps');
  });

  describe('files by URL', () => {
    const server = duringTests(() =>
      startHttpServer((request, response) => {
        if (request.url === '/note.txt') response.end('What a wonderful, happy day.');
        else if (request.url === '/100%25%.txt') response.end('What a wonderful, happy day.');
        else if (request.url === '/moved') response.writeHead(302, { location: '/note.txt' }).end();
        else response.writeHead(404).end();
      }),
    );

    test.each(['/note.txt', '/100%25%.txt'])('are fetched: %s', async (path) => {
      const job = await api.finished(await api.submit(SENTIMENT, { file: server.url + path }));
      expect(job).toMatchObject({ status: 'success', output: { sentiment: 'positive' } });
    });

    test.each([
      ['/gone.txt', /its server responded with 404/],
      ['/moved', /its server responded with 302/],
    ])('that cannot be fetched (%s) fail the job with a reason', async (path, reason) => {
      const submitted = await api.submit(SENTIMENT, { file: server.url + path }, { webhook_receiver: receiver.url });
      const request = await callbackOf(submitted.body.job_id);
      expect(request.json).toMatchObject({ status: 'fail', error: { message: expect.stringMatching(reason) } });
      expect(request.json).not.toHaveProperty('output');
    });
  });

  test('a file that cannot be read fails the job with a reason', async () => {
    const upload = await api.upload('broken.pdf', '%PDF-1.7\nnothing of a PDF follows');
    const job = await api.finished(await api.submit('document/text_extraction/local', { file: upload.body.file_id }));
    expect(job).toMatchObject({ status: 'fail', error: { message: expect.stringMatching(/damaged/) } });
  });

  test('4xx responses to a callback are final, 5xx are retried', async () => {
    receiver.respond = () => ({ status: 404 });
    const rejected = await api.submit(SENTIMENT, { text: 'Fine.' }, { webhook_receiver: receiver.url });
    await callbackOf(rejected.body.job_id);
    const delivery = (jobId: string, state: string) =>
      eventually(`${jobId} ${state}`, () =>
        withDb(mongodbUri, (db) => db.collection('deliveries').findOne({ doc_id: jobId, status: state })),
      );
    expect(await delivery(rejected.body.job_id, 'permanently_failed')).toMatchObject({
      attempts: 1,
      error_code: 'HTTP_404',
    });
    const { deliveries } = (await api.get(`/v3/ai/callbacks?doc_id=${rejected.body.job_id}`)).body;
    expect(deliveries).toMatchObject([
      { status: 'permanently_failed', event_type: 'async_job_completed', attempts: 1 },
    ]);
    const { delivery_id } = deliveries[0];
    expect((await api.get(`/v3/ai/callbacks/${delivery_id}`)).body).toMatchObject({
      url: receiver.url,
      attempt_log: [{ status_code: 404 }],
    });
    receiver.respond = () => ({ status: 204 });
    expect((await api.request('POST', `/v3/ai/callbacks/${delivery_id}/retry`)).body).toMatchObject({ queued: true });
    expect(await delivery(rejected.body.job_id, 'delivered')).toMatchObject({ attempts: 2 });
    expect((await api.request('POST', `/v3/ai/callbacks/${delivery_id}/retry`)).status).toBe(409);
    expect((await api.get(`/v3/ai/callbacks/${newDeliveryId(new Date())}`)).status).toBe(404);
    receiver.respond = (_, count) => ({ status: count === 1 ? 500 : 200 });
    receiver.received.length = 0;
    const upload = await api.upload('broken.pdf', '%PDF-1.7\nnothing of a PDF follows');
    const input = { file: upload.body.file_id };
    const retried = await api.submit('document/text_extraction/local', input, { webhook_receiver: receiver.url });
    expect(await delivery(retried.body.job_id, 'delivered')).toMatchObject({ attempts: 2 });
  });

  test('the available models are listed', async () => {
    const { models, max_file_bytes } = (await api.get('/v3/ai/models')).body;
    expect(max_file_bytes).toBeGreaterThan(0);
    expect(models).toContainEqual({
      model: SENTIMENT,
      feature: 'text',
      subfeature: 'sentiment_analysis',
      provider: 'wink',
      summary: expect.any(String),
      takes: 'text',
      input: expect.objectContaining({ properties: { text: expect.anything(), file: expect.anything() } }),
      provider_models: null,
    });
    const summarize = models.find(({ subfeature }: { subfeature: string }) => subfeature === 'summarize');
    expect(summarize.input.properties.sentences).toMatchObject({ type: 'integer', default: 5, maximum: 50 });
    expect(models.map(({ model }: { model: string }) => model)).toEqual(
      expect.arrayContaining(['ocr/ocr_async/tesseract', 'document/text_extraction/local']),
    );
  });

  test('the input of a job is read as it was submitted, without the query of a URL', async () => {
    const settings = { settings: { sentences: 2 } };
    const { body } = await api.submit('text/summarize/wink', { text: 'It rains. It rains.', ...settings });
    const inputOf = (id: string) => api.get(`/v3/ai/async/${id}/input`);
    expect((await inputOf(body.job_id)).body).toEqual({
      model: 'text/summarize/wink',
      input: { text: 'It rains. It rains.', sentences: 2 },
    });
    const file = `${receiver.url}?signature=secret`;
    const fetched = await api.submit('document/text_extraction/local', { file });
    expect((await inputOf(fetched.body.job_id)).body.input).toEqual({ file: receiver.url });
    const other = createJobClient(apiUrl, (await makeKey(mongodbUri, 'other-inputs')).key);
    expect((await other.get(`/v3/ai/async/${body.job_id}/input`)).status).toBe(404);
  });

  describe('errors', () => {
    const code = ({ status, body }: { status: number; body: { error?: { code: string; message: string } } }) => [
      status,
      body.error?.code,
      Object.keys(body),
    ];
    const text = { text: 'Fine.' };
    const nested = (levels: number): object => (levels === 1 ? {} : { a: nested(levels - 1) });

    test.each<[string, number, string, unknown]>([
      ['no model', 400, 'INVALID_PARAMETERS', { input: text }],
      ['no input', 400, 'INVALID_PARAMETERS', { model: SENTIMENT }],
      ['a model of two parts', 422, 'VALIDATION_ERROR', { model: 'text/sentiment_analysis', input: text }],
      ['an unknown feature', 422, 'VALIDATION_ERROR', { model: 'magic/wand/wink', input: text }],
      ['an unknown provider', 422, 'VALIDATION_ERROR', { model: 'text/sentiment_analysis/oracle', input: text }],
      [
        'a model that the provider does not have',
        422,
        'VALIDATION_ERROR',
        { model: `${SENTIMENT}/large`, input: text },
      ],
      [
        'text and file',
        422,
        'VALIDATION_ERROR',
        { model: SENTIMENT, input: { text: 'a', file: 'https://a.example/' } },
      ],
      ['neither text nor file', 422, 'VALIDATION_ERROR', { model: SENTIMENT, input: {} }],
      ['input that is not an object', 422, 'VALIDATION_ERROR', { model: SENTIMENT, input: 'text' }],
      ['an unknown setting', 422, 'VALIDATION_ERROR', { model: SENTIMENT, input: { text: 'a', speed: 1 } }],
      ['an unknown file', 404, 'FILE_NOT_FOUND', { model: SENTIMENT, input: { file: `fil_${'0'.repeat(26)}` } }],
      ['a truncated file id', 404, 'FILE_NOT_FOUND', { model: SENTIMENT, input: { file: 'fil_01j' } }],
      ['a private file URL', 422, 'VALIDATION_ERROR', { model: SENTIMENT, input: { file: 'https://10.0.0.1/x' } }],
      [
        'a file that is neither an id nor a URL',
        422,
        'VALIDATION_ERROR',
        { model: SENTIMENT, input: { file: 'report.pdf' } },
      ],
      [
        'a private receiver',
        422,
        'VALIDATION_ERROR',
        { model: SENTIMENT, input: text, webhook_receiver: 'https://192.168.0.1/' },
      ],
      [
        'an http receiver',
        422,
        'VALIDATION_ERROR',
        { model: SENTIMENT, input: text, webhook_receiver: 'http://example.com/' },
      ],
      [
        'parameters that are not an object',
        422,
        'VALIDATION_ERROR',
        { model: SENTIMENT, input: text, user_webhook_parameters: [1] },
      ],
      [
        'half a surrogate pair',
        422,
        'VALIDATION_ERROR',
        { model: SENTIMENT, input: text, user_webhook_parameters: { a: '\ud800' } },
      ],
      [
        'parameters too deep for the payload',
        422,
        'VALIDATION_ERROR',
        { model: SENTIMENT, input: text, user_webhook_parameters: nested(101) },
      ],
      [
        'parameters that get too long',
        422,
        'VALIDATION_ERROR',
        { model: SENTIMENT, input: text, user_webhook_parameters: { a: 'x'.repeat(300_000) } },
      ],
      [
        'show_original_response as text',
        422,
        'VALIDATION_ERROR',
        { model: SENTIMENT, input: text, show_original_response: 'yes' },
      ],
    ])('%s', async (_what, status, error, body) => {
      expect(code(await api.request('POST', '/v3/ai/async', JSON.stringify(body)))).toEqual([status, error, ['error']]);
    });

    test('invalid JSON, an unknown key, unknown jobs and routes, and jobs and files of another organisation', async () => {
      expect(code(await api.request('POST', '/v3/ai/async', '{'))).toEqual([400, 'INVALID_PARAMETERS', ['error']]);
      expect(code(await createJobClient(apiUrl, 'pbk_api_unknown_unknown_unknown').get('/v3/ai/models'))).toEqual([401, 'UNAUTHORIZED', ['error']]); // biome-ignore format: one line
      expect(code(await api.get('/v3/ai/async/none'))).toEqual([404, 'JOB_NOT_FOUND', ['error']]);
      expect(code(await api.request('DELETE', '/v3/ai/async/none'))).toEqual([404, 'JOB_NOT_FOUND', ['error']]);
      expect(code(await api.get('/v3/nothing'))).toEqual([404, 'NOT_FOUND', ['error']]);
      const other = createJobClient(apiUrl, (await makeKey(mongodbUri, 'other-jobs')).key);
      const job = await api.submit(SENTIMENT, text);
      expect(code(await other.get(`/v3/ai/async/${job.body.job_id}`))).toEqual([404, 'JOB_NOT_FOUND', ['error']]);
      const upload = await api.upload('a.txt', 'Fine.');
      expect(code(await other.submit(SENTIMENT, { file: upload.body.file_id }))).toEqual([
        404,
        'FILE_NOT_FOUND',
        ['error'],
      ]);
    });

    test('uploads of empty files, without a file or without multipart', async () => {
      expect(code(await api.upload('empty.txt', ''))).toEqual([422, 'VALIDATION_ERROR', ['error']]);
      const misnamed = await api.upload('a.txt', 'x', 'document');
      expect(code(misnamed)).toEqual([422, 'VALIDATION_ERROR', ['error']]);
      expect(misnamed.body.error.message).toBe('document: is not known; did you mean "file"?');
      expect(code(await api.request('POST', '/v3/upload', '{}'))).toEqual([400, 'INVALID_PARAMETERS', ['error']]);
    });
  });

  test('an expired file is kept for a job that waits for it', async () => {
    const upload = await api.upload('a.txt', 'What a wonderful, happy day.');
    const now = new Date();
    const file = upload.body.file_id;
    const later = new Date(now.getTime() + 60 * 60 * 1000);
    const waiting = aiJobRecord({ org: 'jobs', now, check_at: later, file_id: file, input: JSON.stringify({ file }) });
    await withDb(mongodbUri, async (db) => {
      await db.collection<{ _id: string }>('ai_jobs').insertOne(waiting);
      const uploads = db.collection<{ _id: string; expires_at: Date }>('uploads');
      await uploads.updateOne({ _id: file }, { $set: { expires_at: new Date(0) } });
      await reconcile(sharedProduct());
      expect((await uploads.findOne({ _id: file }))!.expires_at.getTime()).toBeGreaterThan(now.getTime());
      await db
        .collection<{ _id: string }>('ai_jobs')
        .updateOne({ _id: waiting._id }, { $set: { check_at: new Date(0) } });
    });
    await reconcile(sharedProduct());
    expect(await api.finished({ status: 202, body: { job_id: waiting._id } })).toMatchObject({
      status: 'success',
    });
  });

  test('jobs are listed newest first, by status and by feature, page by page', async () => {
    const lister = createJobClient(apiUrl, (await makeKey(mongodbUri, 'listed-jobs')).key);
    const now = new Date(Date.now() - 60_000);
    const at = (ms: number) => new Date(now.getTime() + ms);
    // Two of them in one millisecond.
    const records = [0, 1, 1, 2, 3].map((ms, n) =>
      aiJobRecord({
        org: 'listed-jobs',
        now: at(ms),
        ...(n % 2 === 0 ? { feature: 'ocr', subfeature: 'ocr_async', provider: 'tesseract' } : {}),
        status: n < 2 ? 'fail' : 'success',
        error_message: n < 2 ? 'The file is damaged.' : null,
        finished_at: at(100),
      }),
    );
    await withDb(mongodbUri, (db) => db.collection<{ _id: string }>('ai_jobs').insertMany(records));
    const newestFirst = [...records].sort(
      (a, b) => b.created_at.getTime() - a.created_at.getTime() || (b._id < a._id ? -1 : 1),
    );
    const idsOf = (jobs: { job_id: string }[]) => jobs.map(({ job_id }) => job_id);
    const list = async (query: string) => (await lister.get(`/v3/ai/async?${query}`)).body;
    expect(idsOf((await list('')).jobs)).toEqual(newestFirst.map(({ _id }) => _id));
    const pages: string[] = [];
    for (let next = ''; ; ) {
      const { jobs, count, next_cursor } = await list(`limit=2${next}`);
      expect(count).toBe(jobs.length);
      pages.push(...idsOf(jobs));
      if (next_cursor === null) break;
      next = `&cursor=${next_cursor}`;
    }
    expect(pages).toEqual(newestFirst.map(({ _id }) => _id));
    const chosen = newestFirst.filter(({ status, feature }) => status === 'fail' && feature === 'ocr');
    expect((await list('status=fail&feature=ocr')).jobs).toEqual([
      {
        job_id: chosen[0]!._id,
        status: 'fail',
        feature: 'ocr',
        subfeature: 'ocr_async',
        provider: 'tesseract',
        model: null,
        subject: null,
        created_at: chosen[0]!.created_at.toISOString(),
        finished_at: at(100).toISOString(),
        error: { message: 'The file is damaged.' },
        workflow: `ai-job/${chosen[0]!._id}`,
      },
    ]);
    expect((await list('status=queued')).jobs).toEqual([]);
    for (const [query, status] of [
      ['cursor=dlv_1', 400],
      ['cursor=', 400],
      ['status=done', 400],
      ['feature=magic', 400],
      ['limit=0', 400],
    ] as const) {
      expect([query, (await lister.get(`/v3/ai/async?${query}`)).status]).toEqual([query, status]);
    }
  });

  test('settings are given in `settings` or beside the text, and a null receiver means no callback', async () => {
    const text = 'The heron stands. The heron waits. The tide turns at noon.';
    const SUMMARIZE = 'text/summarize/wink';
    const submit = (input: object) => api.submit(SUMMARIZE, input, { webhook_receiver: null });
    const inside = await api.finished(await submit({ text, settings: { sentences: 1 } }));
    const beside = await api.finished(await submit({ text, sentences: 1 }));
    expect(inside).toMatchObject({ status: 'success', output: beside.output });
    for (const settings of [{}, null]) {
      expect((await api.finished(await submit({ text, settings }))).status).toBe('success');
    }
    for (const [input, message] of [
      [{ text, settings: { speed: 1 } }, 'input.settings: has an unknown field "speed"'],
      [{ settings: { text } }, 'input.settings: has an unknown field "text"'],
      [{ text, settings: { settings: {} } }, 'input.settings: has an unknown field "settings"'],
      [{ text, speed: 1 }, 'input.speed: is not known'],
      [{ text, settings: { sentences: 0 } }, 'input.settings.sentences: must be between 1 and 50'],
      [{ text, sentences: 1, settings: { sentences: 1 } }, 'input.settings.sentences: is also in input'],
    ] as const) {
      const { status, body } = await submit(input);
      expect([status, body.error.code]).toEqual([422, 'VALIDATION_ERROR']);
      expect(body.error.message).toContain(message);
    }
  });

  test('a quick job runs inside the first task of its workflow, whether it succeeds or fails', async () => {
    const temporal = await connectTemporal(sharedProduct().temporalAddress, 'default');
    const eventsOf = async (text: string) => {
      const job = await api.submit(SENTIMENT, { text });
      const { status } = await api.finished(job);
      const workflow = temporal.workflow.getHandle(`ai-job/${job.body.job_id}`);
      await workflow.result();
      const { events } = await workflow.fetchHistory();
      return { status, count: events!.length, kinds: events!.map(({ eventType }) => eventType) };
    };
    try {
      // On a busy machine the task may take so long that its worker asks for more time, which is an event.
      await eventually('a job of six events', async () => {
        const { status, count } = await eventsOf('What a wonderful day.');
        return status === 'success' && count === 6;
      });
      await eventually('a failed job without an activity', async () => {
        const text = 'Der Hafen ist seit Montag geschlossen, weil ein Schiff auf Grund gelaufen ist.';
        const { status, kinds } = await eventsOf(text);
        return status === 'fail' && !kinds.includes(EventType.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED);
      });
    } finally {
      await temporal.connection.close();
    }
  });

  describe('uploads', () => {
    const content = (fileId: string) =>
      withDb(mongodbUri, (db) => db.collection('files.files').findOne({ filename: fileId }));

    test('are downloaded as they were sent, by their organisation only', async () => {
      const { body: upload } = await api.upload('opinion.html', '<p>Fine.</p>');
      const path = `/v3/upload/${upload.file_id}/content`;
      const download = await api.request('GET', path, undefined, { Range: 'bytes=3-7' });
      expect([download.status, download.text]).toEqual([206, 'Fine.']);
      expect(download.headers.get('content-disposition')).toBe('attachment; filename="opinion.html"');
      const other = createJobClient(apiUrl, (await makeKey(mongodbUri, 'other-downloads')).key);
      expect(await other.get(path)).toMatchObject({ status: 404, body: { error: { code: 'FILE_NOT_FOUND' } } });
    });

    test('that cannot be read are an error', async () => {
      const { file_id } = (await api.upload('lost.txt', 'Lost.')).body;
      await withDb(mongodbUri, (db) => db.collection('files.files').deleteOne({ filename: file_id }));
      const download = await api.get(`/v3/upload/${file_id}/content`);
      expect(download).toMatchObject({ status: 500, body: { error: { code: 'INTERNAL_ERROR' } } });
    });

    test('are read and deleted, which frees their quota', async () => {
      const org = 'deleted-uploads';
      const owner = createJobClient(apiUrl, (await makeKey(mongodbUri, org)).key);
      const upload = await owner.upload('a.txt', 'Fine.');
      const path = `/v3/upload/${upload.body.file_id}`;
      expect(await owner.get(path)).toMatchObject({ status: 200, body: upload.body });
      for (const method of ['GET', 'DELETE']) {
        expect(await api.request(method, path)).toMatchObject({ status: 404, body: { error: { code: 'FILE_NOT_FOUND' } } }); // biome-ignore format: one line
      }
      const used = async () => (await (await clientOf(org)).get('/usage')).body.data;
      expect(await used()).toMatchObject({ uploads: { used: 1 }, stored_bytes: { used: 5 } });
      const deleted = await owner.request('DELETE', path);
      expect(deleted).toMatchObject({ status: 200, body: { file_id: upload.body.file_id, deleted: true } });
      expect(await used()).toMatchObject({ uploads: { used: 0 }, stored_bytes: { used: 0 } });
      expect(await content(upload.body.file_id)).toBeNull();
      expect((await owner.request('DELETE', path)).status).toBe(404);
      expect((await owner.submit(SENTIMENT, { file: upload.body.file_id })).status).toBe(404);
    });

    test('are kept while a job in progress needs them', async () => {
      const { file_id } = (await api.upload('a.txt', 'Fine.')).body;
      const path = `/v3/upload/${file_id}`;
      const later = new Date(Date.now() + 60 * 60 * 1000);
      const waiting = aiJobRecord({ org: 'jobs', now: new Date(), check_at: later, file_id });
      const jobs = <T>(work: (jobs: Collection<AiJobRecord>) => Promise<T>) =>
        withDb(mongodbUri, (db) => work(db.collection<AiJobRecord>('ai_jobs')));
      await jobs((collection) => collection.insertOne(waiting));
      expect(await api.request('DELETE', path)).toMatchObject({ status: 409, body: { error: { code: 'FILE_IN_USE' } } }); // biome-ignore format: one line
      expect((await api.get(path)).status).toBe(200);
      await jobs((collection) => collection.updateOne({ _id: waiting._id }, { $set: { status: 'fail' } }));
      expect((await api.request('DELETE', path)).status).toBe(200);
    });

    test('of a job that is submitted while they are deleted either stay or are not used', async () => {
      const rounds = Array.from({ length: 12 }, async (_, n) => {
        const { file_id } = (await api.upload(`${n}.txt`, 'What a wonderful, happy day.')).body;
        const [submitted, deleted] = await Promise.all([
          api.submit(SENTIMENT, { file: file_id }),
          api.request('DELETE', `/v3/upload/${file_id}`),
        ]);
        if (submitted.status !== 202) return [submitted.status, deleted.status];
        // Deleted after the job has ended, or not at all.
        return [202, (await api.finished(submitted)).status];
      });
      for (const outcome of await Promise.all(rounds)) {
        expect([
          [202, 'success'],
          [404, 200],
        ]).toContainEqual(outcome);
      }
    });

    test('that are repeated with the same Idempotency-Key are stored once', async () => {
      const key = { 'Idempotency-Key': 'upload-1' };
      const send = (text: string, name = 'a.txt') => api.upload(name, text, 'file', key);
      const first = await send('Fine.');
      expect(first.status).toBe(201);
      const again = await send('Fine.');
      expect([again.status, again.body, again.headers.get('idempotent-replayed')]).toEqual([201, first.body, 'true']);
      for (const other of [await send('Not so fine.'), await send('Fine.', 'b.txt')]) {
        expect([other.status, other.body.error.code]).toEqual([409, 'IDEMPOTENCY_CONFLICT']);
      }
      expect(await content(first.body.file_id)).not.toBeNull();
      const stored = await withDb(mongodbUri, (db) =>
        db.collection('uploads').countDocuments({ filename: 'a.txt', org: 'jobs', _id: first.body.file_id }),
      );
      expect(stored).toBe(1);
    });
  });

  test('a finished job cannot be cancelled', async () => {
    const submitted = await api.submit(SENTIMENT, { text: 'Fine.' });
    await api.finished(submitted);
    const response = await api.request('DELETE', `/v3/ai/async/${submitted.body.job_id}`);
    expect([response.status, response.body.error.code]).toEqual([409, 'JOB_FINISHED']);
  });

  test('a job record, its result and its files expire; the signing key is sealed', async () => {
    const upload = await api.upload('a.txt', 'Fine.');
    const job = await api.finished(await api.submit(SENTIMENT, { file: upload.body.file_id }));
    await withDb(mongodbUri, async (db) => {
      const stored = await db.collection<{ _id: string; expires_at: Date }>('ai_jobs').findOne({ _id: job.job_id });
      expect(stored!.expires_at.getTime() - Date.parse(job.finished_at)).toBe(30 * 24 * 60 * 60 * 1000);
      for (const name of ['ai_jobs', 'ai_job_results', 'checkpoints']) {
        expect(await db.collection(name).indexes()).toContainEqual(
          expect.objectContaining({ key: { expires_at: 1 }, expireAfterSeconds: 0 }),
        );
      }
      // The reconciler removes expired files and their content.
      const uploads = db.collection<{ _id: string; expires_at: Date }>('uploads');
      await uploads.updateOne({ _id: upload.body.file_id }, { $set: { expires_at: new Date(0) } });
      await reconcile(sharedProduct());
      expect(await uploads.findOne({ _id: upload.body.file_id })).toBeNull();
      expect(await db.collection('files.files').findOne({ filename: upload.body.file_id })).toBeNull();
      const keys = JSON.stringify(await db.collection('signing_keys').find().toArray());
      expect(keys).toContain('BEGIN PUBLIC KEY');
      expect(keys).not.toContain('PRIVATE KEY');
    });
  });
});
