import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { z } from 'zod';
import { AI_FEATURES, type FeatureOutput, type SubfeatureName } from '../../domain/ai-jobs/features.js';
import type { AiProviders, InputFile } from '../../domain/ai-jobs/provider.js';
import { noCheckpoints } from '../../domain/checkpoints.js';
import { createAiProviders, OPENAI_SUBFEATURES } from '../../providers/ai-jobs/index.js';
import type { Extractor } from '../../providers/extraction/index.js';
import { duringTests } from '../support/during-tests.js';
import { startExtractor } from '../support/extractor.js';
import { sendCompletion, startOpenAiServer } from '../support/openai-server.js';
import { failsForGood } from './permanent-error.js';

const FIXTURES = join(process.cwd(), 'test/fixtures');
let extractor: Extractor;
let providers: AiProviders;

beforeAll(() => {
  extractor = startExtractor();
  providers = createAiProviders({ extractor });
});
afterAll(async () => {
  await providers.close();
  await extractor.close();
});

const names = (all: AiProviders) => all.list().map(({ subfeature, name }) => `${subfeature}/${name}`);

describe('the list of providers', () => {
  const LOCAL = [
    'ocr/ocr_async/tesseract',
    'ocr/ocr_tables_async/tesseract',
    'document/text_extraction/local',
    'text/language_detection/eld',
    'text/sentiment_analysis/wink',
    'text/named_entity_recognition/wink',
    'text/keyword_extraction/wink',
    'text/summarize/wink',
  ];

  test('without a server: the local providers, which have no choice of models', () => {
    expect(names(providers)).toEqual(LOCAL);
    expect(providers.list().map(({ models }) => models)).toEqual(LOCAL.map(() => null));
    expect(providers.find('text/chat', 'openai')).toBeUndefined();
  });

  test('with a server: also the subfeatures with a configured model, and the models that jobs may name', async () => {
    const models = { 'text/chat': 'small', 'image/captioning': 'seeing' };
    const more = createAiProviders({
      extractor,
      openai: { baseUrl: 'http://127.0.0.1:9/v1', models, allowedModels: ['large'], maxTokens: 100 },
    });
    expect(names(more)).toEqual([...LOCAL, 'text/chat/openai', 'image/captioning/openai']);
    expect(more.find('image/captioning', 'openai')!.models).toEqual({
      default: 'seeing',
      known: ['seeing', 'large'],
      max_tokens: 100,
    });
    await more.close();
  });

  test('every subfeature has a provider', async () => {
    const models = Object.fromEntries(OPENAI_SUBFEATURES.map((subfeature) => [subfeature, 'm']));
    const all = createAiProviders({ extractor, openai: { baseUrl: 'http://127.0.0.1:9/v1', models } });
    expect(new Set(all.list().map(({ subfeature }) => subfeature))).toEqual(new Set(Object.keys(AI_FEATURES)));
    await all.close();
  });
});

describe('inputs', () => {
  const accepts = (subfeature: SubfeatureName, input: unknown) =>
    AI_FEATURES[subfeature].input.safeParse(input).success;
  /** Validation by the OpenAPI document, as a client would do it. */
  const documented = (subfeature: SubfeatureName, input: unknown) =>
    new Ajv2020({ strict: false }).compile(z.toJSONSchema(AI_FEATURES[subfeature].input, { io: 'input' }))(input);

  test.each<[SubfeatureName, unknown, boolean]>([
    ['ocr/ocr_async', { file: 'fil_1' }, true],
    ['ocr/ocr_async', {}, false],
    ['ocr/ocr_async', { file: 'fil_1', pages: 3 }, false],
    ['text/summarize', { text: 'Hello.' }, true],
    ['text/summarize', { file: 'https://example.com/a.pdf', sentences: 3 }, true],
    ['text/summarize', { text: 'Hello.', file: 'fil_1' }, false],
    ['text/summarize', {}, false],
    ['text/summarize', { text: ' \n ' }, false],
    ['text/summarize', { text: 'Hello.', sentences: 0 }, false],
    ['text/keyword_extraction', { text: 'Hello.', max_keywords: 101 }, false],
    ['text/chat', { messages: [{ role: 'user', content: 'Hi.' }] }, true],
    ['text/chat', { messages: [] }, false],
    ['text/chat', { messages: [{ role: 'tool', content: 'Hi.' }] }, false],
    ['translation/automatic_translation', { text: 'Hello.', target_language: 'pt-BR' }, true],
    ['translation/automatic_translation', { text: 'Hello.', target_language: 'Portuguese' }, false],
    ['translation/automatic_translation', { text: 'Hello.' }, false],
  ])('%s accepts %j: %s, and so does its JSON schema', (subfeature, input, accepted) => {
    expect(accepts(subfeature, input)).toBe(accepted);
    expect(documented(subfeature, input)).toBe(accepted);
  });

  test('a language tag without a name is rejected', () => {
    expect(accepts('translation/automatic_translation', { text: 'Hello.', target_language: 'en-ab1' })).toBe(false);
  });

  test('omitted settings have their defaults', () => {
    expect(AI_FEATURES['text/summarize'].input.parse({ text: 'Hello.' })).toEqual({ text: 'Hello.', sentences: 5 });
  });

  test('every input and output has a JSON schema', () => {
    for (const { input, output } of Object.values(AI_FEATURES)) {
      expect(z.toJSONSchema(input, { io: 'input' })).toMatchObject({ type: 'object', additionalProperties: false });
      expect(z.toJSONSchema(output)).toMatchObject({ type: 'object', required: expect.any(Array) });
    }
  });
});

async function fixture(filename: string, kind: InputFile['kind']): Promise<InputFile> {
  const path = join(FIXTURES, filename);
  return { path, filename, kind, mime_type: '', size: (await stat(path)).size };
}

describe('document text extraction', () => {
  async function extract(filename: string, kind: InputFile['kind']) {
    const file = await fixture(filename, kind);
    const options = { model: null, checkpoints: noCheckpoints };
    const provider = providers.find('document/text_extraction', 'local')!;
    const { output } = await provider.run({ file }, options, new AbortController().signal);
    return output as FeatureOutput<'document/text_extraction'>;
  }

  test('headings, pages and sheets are kept', async () => {
    const handbook = await extract('handbook.docx', 'docx');
    expect(handbook.title).toBe('Harbour handbook');
    expect(handbook.sections.find(({ headings }) => headings.at(-1) === 'Fees')).toMatchObject({
      headings: ['Moorings', 'Fees'],
      page: null,
      sheet: null,
    });
    expect(handbook.text).toContain('forty crowns');
    expect((await extract('report.pdf', 'pdf')).sections.map(({ page }) => page)).toEqual([1, 2]);
    expect((await extract('tides.ods', 'ods')).sections[0]!.sheet).toBe('Tides');
  });

  test('files that cannot be read are rejected with the reason', async () => {
    await failsForGood(extract('encrypted.pdf', 'pdf'), /encrypted. Remove the password and send it again/);
    await failsForGood(extract('scanned.pdf', 'pdf'), /No text was found in the file/);
    await failsForGood(extract('report.pdf', 'audio'), /format is not supported/);
  });
});

describe('organisations take turns', () => {
  const server = duringTests(startOpenAiServer);
  const single = duringTests(() => startExtractor({ processes: 1, ocrProcesses: 1 }));
  const ofOneProcess = duringTests(() =>
    createAiProviders({
      extractor: single,
      limits: { textProcesses: 1 },
      openai: { baseUrl: server.baseUrl, models: { 'image/captioning': 'seeing' } },
    }),
  );

  test.each<[SubfeatureName, string, () => Promise<object>]>([
    ['text/language_detection', 'eld', async () => ({ text: 'The harbour is closed.' })],
    ['document/text_extraction', 'local', async () => ({ file: await fixture('handbook.docx', 'docx') })],
    ['ocr/ocr_async', 'tesseract', async () => ({ file: await fixture('scripts/de.png', 'image'), language: 'en' })],
    [
      'ocr/ocr_tables_async',
      'tesseract',
      async () => ({ file: await fixture('scripts/de.png', 'image'), language: 'en' }),
    ],
    ['image/captioning', 'openai', async () => ({ file: await fixture('scripts/de.png', 'image'), language: 'en' })],
  ])('%s: one job does not wait for the many jobs of another organisation', async (subfeature, name, makeInput) => {
    server.respondWith((_request, response) => sendCompletion(response, 'A sign.'));
    const input = await makeInput();
    const provider = ofOneProcess.find(subfeature, name)!;
    const ended: string[] = [];
    const runFor = async (org: string) => {
      await provider.run(
        input as never,
        { model: null, checkpoints: noCheckpoints, org },
        new AbortController().signal,
      );
      ended.push(org);
    };
    await Promise.all([...Array(6).fill('a'), 'b'].map(runFor));
    expect(ended.indexOf('b')).toBeLessThanOrEqual(4);
  });
});
