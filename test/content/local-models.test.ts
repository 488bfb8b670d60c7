import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { fetchModel } from '../../cli/fetch.js';
import { obtainEmbeddingModel } from '../../dev-stack/index.js';
import type { Embedder } from '../../domain/content/search.js';
import { createEmbedder } from '../../providers/embeddings/index.js';
import { readConfig } from '../../runtime/config.js';
import { embedderConfig } from '../../runtime/provider-config.js';
import { writeTinyModel } from '../support/tiny-model.js';

const SETTINGS = { name: 'tiny-multilingual', dimensions: 4, pooling: 'mean' };
const similarity = (a: Float32Array, b: Float32Array) => a.reduce((sum, value, at) => sum + value * b[at]!, 0);

let folder: string;
let embedder: Embedder | null = null;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'postback-model-'));
});
afterEach(async () => {
  await embedder?.close();
  embedder = null;
  rmSync(folder, { recursive: true });
});

/** The embedder of a process with this setting. */
function configured(): Embedder {
  embedder = createEmbedder(embedderConfig(readConfig({ POSTBACK_EMBEDDING_MODEL_DIR: folder })));
  return embedder!;
}

test('a model in a folder of its own is used as its description says, and finds texts of other languages', async () => {
  writeTinyModel(folder, SETTINGS);
  const { model, dimensions } = configured();
  expect({ model, dimensions }).toEqual({ model: 'tiny-multilingual', dimensions: 4 });

  const query = await embedder!.embedQuery('my house');
  expect(Math.hypot(...query)).toBeCloseTo(1, 4);
  const texts = ['Unser Haus am See', 'Unser Boot am See', 'La maison et le bateau'];
  const [haus, boot, both] = (await embedder!.embedDocuments(texts)).map((vector) => similarity(query, vector));
  expect(haus).toBeCloseTo(1, 1);
  expect(boot).toBeCloseTo(0, 1);
  // The mean of both words, and not the first one.
  expect(both).toBeCloseTo(Math.SQRT1_2, 1);
});

test('the prefixes of queries and documents, the pooling and the longest text are those of the description', async () => {
  const prefixes = { query_prefix: 'house ', document_prefix: 'boat boat boat ' };
  writeTinyModel(folder, { ...SETTINGS, pooling: 'first', max_tokens: 16, ...prefixes });
  const { embedQuery, embedDocuments } = configured();
  const [text] = await embedDocuments(['invoice']);
  expect(similarity(await embedQuery('boat'), text!)).toBeCloseTo(0, 2);
  expect(similarity(await embedQuery('boat'), (await embedDocuments(['house']))[0]!)).toBeCloseTo(0, 2);
  await embedder!.close();

  writeTinyModel(folder, { ...SETTINGS, max_tokens: 16 });
  const long = await configured().embedDocuments([`${'house '.repeat(16)}${'boat '.repeat(100)}`]);
  expect(similarity(long[0]!, await embedder!.embedQuery('house'))).toBeGreaterThan(0.9);
});

test('a description that does not fit the model is reported, and no vector is stored', async () => {
  writeTinyModel(folder, { ...SETTINGS, dimensions: 5 });
  await expect(configured().embedQuery('house')).rejects.toThrow(
    'the vectors of tiny-multilingual have 4 dimensions, and not 5',
  );
});

test.each([
  ['no JSON', 'name: tiny', /model\.json: .*JSON/],
  ['an unknown setting', JSON.stringify({ ...SETTINGS, pool: 'mean' }), /Unrecognized key: "pool"/],
  ['no name', JSON.stringify({ dimensions: 4 }), /name/],
])('a description with %s is an error that says so', (_what, text, message) => {
  writeTinyModel(folder, SETTINGS);
  writeFileSync(join(folder, 'model.json'), text);
  expect(configured).toThrow(message);
});

test('a model is copied with its description', async () => {
  writeTinyModel(folder, SETTINGS);
  const copy = join(folder, 'copy');
  await fetchModel({ to: copy }, { POSTBACK_EMBEDDING_MODEL_DIR: folder });
  expect(readdirSync(copy).sort()).toEqual(['model.json', 'model_quantized.onnx', 'tokenizer.json']);
});

test('npm start takes a folder with a description as it is, and says which file is missing', async () => {
  const env = { POSTBACK_EMBEDDING_MODEL_DIR: folder };
  const obtain = () => obtainEmbeddingModel({ cacheDir: folder, env, log: () => undefined });
  writeTinyModel(folder, SETTINGS);
  expect(await obtain()).toEqual({
    modelPath: join(folder, 'model_quantized.onnx'),
    tokenizerPath: join(folder, 'tokenizer.json'),
  });
  rmSync(join(folder, 'tokenizer.json'));
  expect(await obtain()).toEqual({ unavailable: expect.stringContaining('tokenizer.json') });
});
