import { writeFile } from 'node:fs/promises';
import type { ServerResponse } from 'node:http';
import { join } from 'node:path';
import { afterAll, afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import sharp from 'sharp';
import type { SubfeatureName } from '../../domain/ai-jobs/features.js';
import type { AiProviders, InputFile, ProviderOptions } from '../../domain/ai-jobs/provider.js';
import { noCheckpoints } from '../../domain/checkpoints.js';
import { createAiProviders, OPENAI_SUBFEATURES, type OpenAiConfig } from '../../providers/ai-jobs/index.js';
import { bitmap } from '../fixtures/made-files.js';
import { startExtractor } from '../support/extractor.js';
import { temporaryFolder } from '../support/folder.js';
import {
  type OpenAiServer,
  type RecordedRequest,
  sendCompletion,
  sendJson,
  startOpenAiServer,
} from '../support/openai-server.js';
import { failsForGood } from './permanent-error.js';

const KEY = 'sk-very-secret';
const PROMPT = 'The patient is called Ottilie Krähenbühl.';
const folder = temporaryFolder('openai');
const extractor = startExtractor();
let server: OpenAiServer;
let providers: AiProviders;

afterAll(() => extractor.close());
beforeEach(async () => {
  server = await startOpenAiServer();
  providers = create();
});
afterEach(async () => {
  await providers.close();
  await server.close();
});

function create(extra: Partial<OpenAiConfig> = {}): AiProviders {
  const models = Object.fromEntries(OPENAI_SUBFEATURES.map((subfeature) => [subfeature, 'test-model']));
  return createAiProviders({ extractor, openai: { baseUrl: server.baseUrl, apiKey: KEY, models, ...extra } });
}

function run(
  subfeature: SubfeatureName,
  input: unknown,
  extra: Partial<ProviderOptions & { signal: AbortSignal }> = {},
) {
  const { signal = new AbortController().signal, model = null, checkpoints = noCheckpoints } = extra;
  return providers.find(subfeature, 'openai')!.run(input as never, { model, checkpoints }, signal);
}
const chat = (extra?: Parameters<typeof run>[2]) =>
  run('text/chat', { messages: [{ role: 'user', content: PROMPT }] }, extra);

/** The form that a request uploads. */
function formOf({ headers, body }: RecordedRequest): Promise<FormData> {
  return new Response(new Uint8Array(body), { headers: { 'content-type': headers['content-type']! } }).formData();
}

async function file(filename: string, bytes: Buffer, kind: InputFile['kind'], mime_type: string): Promise<InputFile> {
  const path = join(folder, filename);
  await writeFile(path, bytes);
  return { path, filename, kind, mime_type, size: bytes.length };
}

describe('requests and results', () => {
  test('a conversation is sent to the server with the key, and its next message is returned', async () => {
    server.respondWith((_request, response) => sendCompletion(response, 'Hello.'));
    const messages = [
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: 'Hi.' },
    ];
    const { output, original } = await run('text/chat', { messages, temperature: 0.2, max_tokens: 50 });
    expect(output).toEqual({ text: 'Hello.', finish_reason: 'stop', usage: { input_tokens: 12, output_tokens: 5 } });
    expect(original).toMatchObject({ id: 'chatcmpl-1', choices: [{ message: { content: 'Hello.' } }] });
    const [request] = server.requests;
    expect(request!.path).toBe('/v1/chat/completions');
    expect(request!.headers.authorization).toBe(`Bearer ${KEY}`);
    expect(request!.json()).toEqual({ model: 'test-model', messages, temperature: 0.2, max_tokens: 50 });
  });

  test('every request names the limit of tokens, in the field that the model takes', async () => {
    const limited = create({ maxTokens: 300 });
    server.respondWith((request, response) => {
      if (request.json().max_tokens === undefined) sendCompletion(response, 'Hello.');
      else sendJson(response, { error: { message: "Use 'max_completion_tokens' instead.", param: 'max_tokens' } }, 400);
    });
    for (const [subfeature, input] of [
      ['text/chat', { messages: [{ role: 'user', content: PROMPT }] }],
      ['text/summarize', { text: PROMPT, sentences: 1 }],
      ['translation/automatic_translation', { text: PROMPT, target_language: 'de' }],
    ] as const) {
      server.requests.length = 0;
      const options = { model: null, checkpoints: noCheckpoints };
      await limited.find(subfeature, 'openai')!.run(input as never, options, new AbortController().signal);
      const sent = server.requests.map((request) => request.json());
      expect(sent.map(({ max_tokens, max_completion_tokens }) => [max_tokens, max_completion_tokens])).toEqual([
        [300, undefined],
        [undefined, 300],
      ]);
    }
    await limited.close();
  });

  /** Rejects requests with a field, as OpenAI does. */
  const rejectField = (field: string, isAccepted: (request: RecordedRequest) => boolean) =>
    server.respondWith((request, response) => {
      if (!isAccepted(request)) sendJson(response, { error: { message: 'Unsupported value', param: field } }, 400);
      else if (request.path.endsWith('/transcriptions')) sendJson(response, { text: 'Closed.' });
      else sendCompletion(response, 'Closed.');
    });

  test.each([
    ['text/summarize', { text: PROMPT, sentences: 1 }, { summary: 'Closed.' }],
    ['translation/automatic_translation', { text: PROMPT, target_language: 'en' }, { text: 'Closed.' }],
  ] as const)('%s uses temperature 0, or that of a model that has only one', async (subfeature, input, expected) => {
    rejectField('temperature', (request) => request.json().temperature === undefined);
    expect((await run(subfeature, input)).output).toMatchObject(expected);
    expect(server.requests.map((request) => request.json().temperature)).toEqual([0, undefined]);
  });

  test('a model that takes neither max_tokens nor a temperature is used without both', async () => {
    const limited = create({ maxTokens: 300 });
    server.respondWith((request, response) => {
      const { max_tokens, temperature } = request.json();
      const param = max_tokens === undefined ? 'temperature' : 'max_tokens';
      const message = param === 'max_tokens' ? "Use 'max_completion_tokens' instead." : 'Only 1 is supported.';
      if (max_tokens === undefined && temperature === undefined) sendCompletion(response, 'Closed.');
      else sendJson(response, { error: { message, param } }, 400);
    });
    const options = { model: null, checkpoints: noCheckpoints };
    const summarizer = limited.find('text/summarize', 'openai')!;
    await summarizer.run({ text: PROMPT, sentences: 1 }, options, new AbortController().signal);
    expect(server.requests.at(-1)!.json()).toEqual({
      model: 'test-model',
      messages: expect.any(Array),
      max_completion_tokens: 300,
    });
    expect(server.requests).toHaveLength(3);
    await limited.close();
  });

  test('the temperature that a job names is not left out', async () => {
    rejectField('temperature', (request) => request.json().temperature === undefined);
    const job = run('text/chat', { messages: [{ role: 'user', content: PROMPT }], temperature: 0.2 });
    await failsForGood(job, /rejected the request \(status 400\)/);
    expect(server.requests).toHaveLength(1);
  });

  test('a request is well formed, whatever text it holds', async () => {
    server.respondWith((_request, response) => sendCompletion(response, 'Hello.'));
    await run('text/chat', { messages: [{ role: 'user', content: 'cut \ud83d off' }] });
    expect(server.requests[0]!.json().messages[0]!.content).toBe('cut \ufffd off');
  });

  test('the model of the job is used instead of the default', async () => {
    server.respondWith((_request, response) => sendCompletion(response, 'Hello.'));
    await chat({ model: 'other-model' });
    expect(server.requests[0]!.json().model).toBe('other-model');
  });

  test('a chat reports that its output was cut off; other subfeatures fail', async () => {
    server.respondWith((_request, response) => sendCompletion(response, 'Half of', { finish_reason: 'length' }));
    expect((await chat()).output).toMatchObject({ text: 'Half of', finish_reason: 'length' });
    const cutOff = run('text/summarize', { text: PROMPT, sentences: 2 });
    await failsForGood(cutOff, /cut off/);
  });

  test('the number of sentences of a summary is part of the prompt', async () => {
    server.respondWith((_request, response) => sendCompletion(response, ' It is short. '));
    const { output } = await run('text/summarize', { text: 'A long text.', sentences: 2 });
    expect(output).toEqual({ summary: 'It is short.' });
    const { messages } = server.requests[0]!.json();
    expect(messages[0]).toMatchObject({ role: 'system', content: expect.stringContaining('at most 2 sentences') });
    expect(messages[1]).toEqual({ role: 'user', content: 'A long text.' });
  });

  test('a long text is translated in pieces that keep its paragraphs, and no piece is translated twice', async () => {
    const paragraph = (number: number) => `Paragraph ${number}: ${'the quay is closed. '.repeat(120).trim()}`;
    const text = [1, 2, 3, 4, 5, 6].map(paragraph).join('\n\n');
    server.respondWith((request, response) =>
      sendCompletion(response, String(request.json().messages[1]!.content).toUpperCase()),
    );
    const steps = new Map<string, unknown>();
    let save = async (step: string, value: unknown) => {
      steps.set(step, value);
      if (steps.size === 2) throw new Error('the worker died');
    };
    const checkpoints: ProviderOptions['checkpoints'] = {
      load: async (step) => steps.get(step),
      save: (step, value) => save(step, value),
    };
    const input = { text, target_language: 'de', source_language: 'en' };
    await expect(run('translation/automatic_translation', input, { checkpoints })).rejects.toThrow('the worker died');
    const before = server.requests.length;
    expect(before).toBe(2);

    save = async (step, value) => void steps.set(step, value);
    const { output } = await run('translation/automatic_translation', input, { checkpoints });
    expect(output).toEqual({ text: text.toUpperCase(), target_language: 'de' });
    expect(server.requests.length).toBe(steps.size);
    expect(server.requests[0]!.json().messages[0]!.content).toContain('from English to German');
  });

  test('white space in a translated text is kept and not sent, however long it is', async () => {
    server.respondWith((request, response) =>
      sendCompletion(response, String(request.json().messages[1]!.content).toUpperCase()),
    );
    const text = `The quay.${' '.repeat(20_000)}The tower.${'\n'.repeat(7_000)}The end.`;
    const { output } = await run('translation/automatic_translation', { text, target_language: 'de' });
    expect(output).toMatchObject({ text: text.toUpperCase() });
    expect(server.requests.map((request) => request.json().messages[1]!.content)).toEqual([
      'The quay.',
      'The tower.',
      'The end.',
    ]);
  });

  test.each([
    ['a PNG', 'png', () => picture().png().toBuffer()],
    [
      'a BMP, which servers do not read,',
      'bmp',
      async () => {
        const { data, info } = await picture().removeAlpha().raw().toBuffer({ resolveWithObject: true });
        return bitmap(data, info.width, info.height);
      },
    ],
  ])('%s is sent as a JPEG of bounded size', async (_name, extension, make) => {
    server.respondWith((_request, response) => sendCompletion(response, 'A red square.'));
    const input = await file(`red.${extension}`, await make(), 'image', `image/${extension}`);
    const { output } = await run('image/captioning', { file: input, language: 'en' });
    expect(output).toEqual({ caption: 'A red square.' });
    const content = server.requests[0]!.json().messages[0]!.content as { image_url?: { url: string } }[];
    const [head, data] = content[1]!.image_url!.url.split(',');
    expect(head).toBe('data:image/jpeg;base64');
    expect(await sharp(Buffer.from(data!, 'base64')).metadata()).toMatchObject({ format: 'jpeg', width: 1_568 });
  });
  const picture = () => sharp({ create: { width: 2_000, height: 1_000, channels: 3, background: '#d02020' } });

  test('a recording is uploaded as a form, and its transcript has times', async () => {
    server.respondWith((_request, response) =>
      sendJson(response, {
        text: ' The quay is closed. ',
        language: 'english',
        duration: '3.5',
        segments: [{ id: 0, start: 0, end: 3.5, text: ' The quay is closed.', tokens: [1] }],
      }),
    );
    const sound = Buffer.from('RIFF....WAVEfmt \0\x01\x02\xff', 'latin1');
    const input = await file('notice.wav', sound, 'audio', 'audio/wav');
    const { output } = await run('audio/speech_to_text_async', { file: input, language: 'en' });
    expect(output).toEqual({
      text: 'The quay is closed.',
      language: 'english',
      duration_seconds: 3.5,
      segments: [{ start: 0, end: 3.5, text: 'The quay is closed.' }],
    });
    const { path, headers } = server.requests[0]!;
    expect(path).toBe('/v1/audio/transcriptions');
    expect(headers['content-type']).toMatch(/^multipart\/form-data/);
    const form = await formOf(server.requests[0]!);
    expect(Object.fromEntries([...form].filter(([, value]) => typeof value === 'string'))).toEqual({
      model: 'test-model',
      response_format: 'verbose_json',
      language: 'en',
    });
    const sent = form.get('file') as File;
    expect([sent.name, sent.type]).toEqual(['notice.wav', 'audio/wav']);
    expect(Buffer.from(await sent.arrayBuffer())).toEqual(sound);
  });

  test('a model that has no verbose_json transcribes without it', async () => {
    rejectField('response_format', ({ body }) => !body.includes('verbose_json'));
    const input = await file('notice.wav', Buffer.from('RIFF'), 'audio', 'audio/wav');
    const { output } = await run('audio/speech_to_text_async', { file: input });
    expect(output).toMatchObject({ text: 'Closed.', language: null, segments: [] });
    const formats = server.requests.map(async (request) => (await formOf(request)).get('response_format'));
    expect(await Promise.all(formats)).toEqual(['verbose_json', 'json']);
  });

  test.each([
    ['blob', 'video/webm', 'blob.webm'],
    ['blob', 'audio/ogg; codecs=opus', 'blob.ogg'],
    ['download', 'audio/mpeg', 'download.mp3'],
    ['download', 'audio/midi', 'download'],
    ['notice.wav', 'audio/wav', 'notice.wav'],
  ])('the recording %s of the type %s is sent as %s', async (filename, type, name) => {
    server.respondWith((_request, response) => sendJson(response, { text: 'Closed.' }));
    const input = await file(filename, Buffer.from('sound'), 'audio', type);
    await run('audio/speech_to_text_async', { file: input, language: 'pt-BR' });
    const form = await formOf(server.requests[0]!);
    expect((form.get('file') as File).name).toBe(name);
    // ISO 639 has no regions.
    expect(form.get('language')).toBe('pt');
  });

  test('files of the wrong kind and recordings over the limit are not sent', async () => {
    const text = await file('notes.txt', Buffer.from('Hello.'), 'text', 'text/plain');
    const large = { ...text, kind: 'audio', size: 26 * 1024 * 1024 };
    await expect(run('image/captioning', { file: text, language: 'en' })).rejects.toThrow(/not a picture/);
    await expect(run('audio/speech_to_text_async', { file: text })).rejects.toThrow(/not a recording/);
    await expect(run('audio/speech_to_text_async', { file: large })).rejects.toThrow(/over 25 MiB/);
    expect(server.requests).toEqual([]);
  });
});

describe('failures', () => {
  const failsWith = async (job: Promise<unknown>, expected: Record<string, unknown>) => {
    const error = await job.then(
      () => undefined,
      (thrown: Error) => thrown,
    );
    expect(error).toMatchObject({ name: 'ProviderError', ...expected });
    const shown = `${error!.message} ${JSON.stringify(error)}`;
    for (const secret of [KEY, '127.0.0.1', 'Ottilie', 'Krähenbühl']) expect(shown).not.toContain(secret);
  };
  /** The error messages of servers quote the request, and some quote the key. */
  const failWith = (status: number, headers: Record<string, string> = {}) =>
    server.respondWith((_request, response) =>
      response.writeHead(status, headers).end(JSON.stringify({ error: { message: `${KEY} may not send ${PROMPT}` } })),
    );

  test.each([
    [400, false, /rejected the request \(status 400\)/],
    [401, false, /rejected the service's credentials/],
    [403, false, /rejected the service's credentials/],
    [404, false, /does not know this model/],
    [413, false, /too large/],
    [408, true, /failed \(status 408\)/],
    [429, true, /too many requests/],
    [500, true, /failed \(status 500\)/],
    [503, true, /failed \(status 503\)/],
  ])('status %i: retryable %s', async (status, retryable, message) => {
    failWith(status);
    await failsWith(chat(), { retryable, message: expect.stringMatching(message) });
  });

  test('Retry-After of the server is passed on', async () => {
    failWith(429, { 'retry-after': '7' });
    await failsWith(chat(), { retryable: true, retryAfterMs: 7_000 });
  });

  test('a redirect is not followed, because it would send the key and the text elsewhere', async () => {
    server.respondWith((_request, response) =>
      response.writeHead(307, { location: `${server.baseUrl}/elsewhere` }).end(),
    );
    await failsWith(chat(), { retryable: true });
    expect(server.requests).toHaveLength(1);
  });

  test('errors name the reason: not JSON, no message, an empty message, or a declined request', async () => {
    const responses: [(response: ServerResponse) => void, boolean, RegExp][] = [
      [(response) => response.end(`<html>${PROMPT}`), true, /not JSON/],
      [(response) => sendJson(response, { choices: [] }), true, /no message/],
      [(response) => sendJson(response, null), true, /no message/],
      [(response) => sendCompletion(response, '  '), true, /empty message/],
      [(response) => sendCompletion(response, null, { refusal: `I may not say ${PROMPT}` }), false, /declined/],
      [(response) => sendCompletion(response, null, { finish_reason: 'content_filter' }), false, /declined/],
    ];
    for (const [respond, retryable, message] of responses) {
      server.respondWith((_request, response) => respond(response));
      await failsWith(chat(), { retryable, message: expect.stringMatching(message) });
    }
  });

  test('an endless response is aborted', async () => {
    await providers.close();
    providers = create({ maxResponseBytes: 100_000 });
    const closed = new Promise<void>((resolve) =>
      server.respondWith((_request, response) => {
        const write = () => {
          while (response.write(' '.repeat(65_536)));
        };
        response.on('drain', write).on('close', resolve);
        write();
      }),
    );
    await failsWith(chat(), { retryable: false, message: expect.stringMatching(/too large/) });
    await closed;
  });

  test('a silent server fails at the time limit', async () => {
    await providers.close();
    providers = create({ timeoutMs: 50 });
    server.respondWith(() => {});
    await failsWith(chat(), { retryable: true, message: expect.stringMatching(/did not respond within/) });
  });

  test('an aborted request ends with the reason of the signal and closes its connection', async () => {
    const stop = new AbortController();
    const reason = new Error('cancelled');
    const closed = new Promise<void>((resolve) =>
      server.respondWith((_request, response) => {
        response.on('close', resolve);
        stop.abort(reason);
      }),
    );
    await expect(chat({ signal: stop.signal })).rejects.toBe(reason);
    await closed;
  });

  test('a broken connection and an unreachable server are retryable', async () => {
    server.respondWith((_request, response) => response.writeHead(200).write('{"choices"', () => response.destroy()));
    await failsWith(chat(), { retryable: true, message: expect.stringMatching(/cannot be reached/) });
    await server.close();
    await failsWith(chat(), { retryable: true, message: expect.stringMatching(/cannot be reached/) });
  });
});
