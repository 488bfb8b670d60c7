import { mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import sharp from 'sharp';
import type { OcrLanguage } from '../../domain/ocr-languages.js';
import { DEFAULT_LIMITS } from '../../providers/extraction/limits.js';
import { createPageReader, type PageReader } from '../../providers/extraction/ocr/page-reader.js';
import type { ScannedFile } from '../../providers/extraction/ocr/picture.js';
import { areasOf } from '../../providers/extraction/ocr/second/areas.js';
import type { LinePlace } from '../../providers/extraction/ocr/second/find-lines.js';
import { MODEL_FILES, MODELS_FOLDER } from '../../providers/extraction/ocr/second/models.js';
import { inReadingOrder } from '../../providers/extraction/ocr/second/reading-order.js';
import { damagedPages } from '../fixtures/damaged-pages.js';
import { scan, scannedPdf } from '../fixtures/scanned-files.js';
import { duringTests } from '../support/during-tests.js';
import { PATIENCE_MS } from '../support/eventually.js';
import { temporaryFolder } from '../support/folder.js';
import { WORDS, writeTinyRecogniser } from '../support/tiny-recogniser.js';

const folder = temporaryFolder('second-recogniser');
const LINES = 3;
const never = new AbortController().signal;
const logged: object[] = [];
const readerWith = (languagesDir: string) =>
  createPageReader({
    processes: 1,
    timeoutMs: PATIENCE_MS,
    languagesDir,
    log: { warn: (details) => logged.push(details) },
  });

/** A page out of focus, of which Tesseract is not sure, and a sharp one. */
let blurred: ScannedFile;
let clean: ScannedFile;
beforeAll(async () => {
  const save = (name: string, bytes: Buffer): ScannedFile => {
    writeFileSync(join(folder, name), bytes);
    return { path: join(folder, name), kind: 'pdf' };
  };
  const [page] = await damagedPages(readFileSync('test/fixtures/harbour-article.txt', 'utf8'), LINES);
  const jpeg = await sharp(page!.jpeg).blur(3).toColourspace('b-w').jpeg().toBuffer();
  blurred = save('blurred.pdf', scannedPdf([{ ...page!, jpeg }]));
  clean = save('clean.pdf', scannedPdf([await scan(['The lamp was lit at dusk', 'The ferry leaves at nine'])]));
});
beforeEach(() => {
  logged.length = 0;
});

describe('pages that Tesseract is not sure of', () => {
  const without = duringTests(() => readerWith(folder));
  const reader = duringTests(() => {
    const languagesDir = mkdtempSync(join(folder, 'models-'));
    writeTinyRecogniser(languagesDir);
    return readerWith(languagesDir);
  });
  const read = async (file: ScannedFile, from: PageReader = reader, language?: OcrLanguage) =>
    (await from.read(file, { limits: DEFAULT_LIMITS, language }, never))[0]!;

  test('are read by the second recogniser, line by line', async () => {
    const { text, confidence, lines } = await read(blurred);
    expect(lines).toHaveLength(LINES);
    expect(text.replaceAll('\n\n', '\n')).toBe(Array(LINES).fill(WORDS).join('\n'));
    expect(confidence).toBeCloseTo(0.9, 2);
    const [first, second] = lines;
    expect(first!.box.left).toBeCloseTo(110 / 1_240, 1);
    expect(second!.box.top).toBeGreaterThan(first!.box.top);
    expect(logged).toEqual([]);
  });

  test('keep the result of Tesseract as the original one', async () => {
    const [scanned] = await reader.readWithWords(blurred, { limits: DEFAULT_LIMITS }, never);
    const { page, tsv } = scanned!;
    expect(page.text).toContain(WORDS);
    expect(tsv).not.toContain('recogniser');
  });

  test('stay as they are where the models are missing', async () => {
    const page = await read(blurred, without);
    expect(page.text).not.toContain('recogniser');
    expect(page.confidence).toBeLessThan(0.9);
    expect(logged).toEqual([]);
  });

  test('may be Chinese only when the language is', async () => {
    const chinese = WORDS.replace(/.$/, '中');
    expect((await read(blurred, reader, 'zh')).lines[0]!.text).toBe(chinese);
  });

  test('stay as they are in a language that the models do not know', async () => {
    expect((await read(blurred, reader, 'uk')).text).not.toContain('recogniser');
  });

  test('are others than those that it is sure of', async () => {
    expect((await read(clean)).text).toBe('The lamp was lit at dusk\nThe ferry leaves at nine');
  });
});

describe('models that cannot be loaded', () => {
  const reader = duringTests(() => {
    const languagesDir = mkdtempSync(join(folder, 'broken-'));
    mkdirSync(join(languagesDir, MODELS_FOLDER));
    for (const file of Object.values(MODEL_FILES)) writeFileSync(join(languagesDir, MODELS_FOLDER, file), 'broken');
    return readerWith(languagesDir);
  });
  afterAll(() => {
    logged.length = 0;
  });

  test('leave the text of Tesseract, with a warning', async () => {
    const [page] = await reader.read(blurred, { limits: DEFAULT_LIMITS }, never);
    expect(page!.page).toBe(1);
    expect(logged).toEqual([{ reason: expect.stringMatching(/protobuf/i) }]);
  });

  test('are not needed for tables, which come from the words of Tesseract', async () => {
    await reader.readTables(blurred, { limits: DEFAULT_LIMITS }, never);
    expect(logged).toEqual([]);
  });
});

test('areas are connected pixels, also over a corner', () => {
  const picture = ['..#.....', '.#....##', '......##', '........'];
  const levels = Float32Array.from(picture.join(''), (pixel) => (pixel === '#' ? 0.8 : 0));
  expect(areasOf(levels, 8, 4, 0.3)).toEqual([
    { x0: 1, y0: 0, x1: 3, y1: 2, mean: expect.closeTo(0.4) },
    { x0: 6, y0: 1, x1: 8, y1: 3, mean: expect.closeTo(0.8) },
  ]);
});

describe('the order of lines', () => {
  const place = (x0: number, y: number, x1: number): LinePlace => {
    const core = { x0, y0: y, x1, y1: y + 10 };
    return { core, box: core };
  };
  const order = (places: LinePlace[]) =>
    inReadingOrder(places.toReversed()).map((rows) => rows.map((row) => row.map((each) => places.indexOf(each))));
  const down = (x0: number, x1: number, from = 0) => [0, 30, 60, 90].map((y) => place(x0, from + y, x1));

  test('is column by column in prose, also below a title', () => {
    expect(order([place(0, 0, 600), ...down(0, 280, 80), ...down(320, 600, 80)])).toEqual([
      [[0]],
      [[1], [2], [3], [4]],
      [[5], [6], [7], [8]],
    ]);
  });

  test('is row by row in tables', () => {
    expect(order([...down(0, 80), ...down(200, 260)])).toEqual([
      [
        [0, 4],
        [1, 5],
        [2, 6],
        [3, 7],
      ],
    ]);
  });

  test('has a paragraph after a wider gap', () => {
    expect(order([...down(0, 500), ...down(0, 500, 160)])).toEqual([
      [[0], [1], [2], [3]],
      [[4], [5], [6], [7]],
    ]);
  });
});
