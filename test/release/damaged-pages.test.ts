import { readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import sharp from 'sharp';
import { DEFAULT_LIMITS } from '../../providers/extraction/limits.js';
import { createPageReader } from '../../providers/extraction/ocr/page-reader.js';
import { openPdfPages } from '../../providers/extraction/ocr/pdf-pages.js';
import { type DamagedPage, damagedPages } from '../fixtures/damaged-pages.js';
import { lettering } from '../fixtures/lettering.js';
import { mixedPdf, scan, scannedPdf } from '../fixtures/scanned-files.js';
import { characterErrors } from '../support/character-errors.js';
import { LANGUAGES_DIR, startExtractor } from '../support/extractor.js';
import { temporaryFolder } from '../support/folder.js';

const folder = temporaryFolder('damaged-pages');
const reader = createPageReader({ processes: 1, timeoutMs: 120_000, languagesDir: LANGUAGES_DIR });
const extractor = startExtractor();
afterAll(() => Promise.all([reader.close(), extractor.close()]));

async function saved(name: string, file: Buffer): Promise<string> {
  const path = join(folder, name);
  await writeFile(path, file);
  return path;
}

describe('pages that are damaged', () => {
  const article = readFileSync('test/fixtures/harbour-article.txt', 'utf8');
  let pages: DamagedPage[];
  beforeAll(async () => {
    pages = await damagedPages(article, 10);
  });
  const read = async ({ jpeg }: DamagedPage) => {
    const path = await saved('page.jpg', jpeg);
    const [page] = await reader.read({ path, kind: 'image' }, { limits: DEFAULT_LIMITS }, new AbortController().signal);
    return page!;
  };

  test.each([
    ['skewed', 3, 0.02],
    ['noisy', 1, 0.1],
    ['rotated', 0, 0.02],
    ['rotated', 1, 0.02],
    ['rotated', 2, 0.02],
    ['photographed', 1, 0.05],
  ])('are read: %s, number %i', async (kind, n, errors) => {
    const page = pages.filter((each) => each.kind === kind)[n]!;
    expect(characterErrors((await read(page)).text, page.text)).toBeLessThan(errors);
  });

  test('have the boxes of their lines where these are on the page', async () => {
    const turned = pages.filter(({ kind }) => kind === 'rotated')[0]!;
    const { lines } = await read(turned);
    // Turned clockwise, the first line runs down along the right edge.
    const [first, second] = lines.map(({ box }) => box);
    expect(first!.height).toBeGreaterThan(first!.width * 10);
    expect(first!.left).toBeGreaterThan(0.85);
    expect(second!.left).toBeLessThan(first!.left);
    expect(first!.top).toBeCloseTo(110 / 1_240, 1);
  });
});

describe('the size in which a page of a PDF is read', () => {
  const widthOf = async (name: string, pdf: Buffer) => {
    const pages = await openPdfPages(await saved(name, pdf), DEFAULT_LIMITS);
    const { width } = await pages.image(1);
    pages.close();
    return width;
  };

  test('is that of its scan, which may be turned', async () => {
    const page = await scan(Array(20).fill('The lamp was lit at dusk'), 1_500);
    expect(Math.abs((await widthOf('own.pdf', scannedPdf([page]))) - 1_500)).toBeLessThanOrEqual(2);
    expect(Math.abs((await widthOf('turned.pdf', scannedPdf([page], 90))) - page.height)).toBeLessThanOrEqual(2);
  });

  test('is larger for a small scan', async () => {
    const page = await scan(Array(20).fill('The lamp was lit at dusk'), 800);
    expect(Math.abs((await widthOf('small.pdf', scannedPdf([page]))) - 1_200)).toBeLessThanOrEqual(2);
  });

  test('is 210 dpi for a page that is drawn', async () => {
    expect(Math.abs((await widthOf('drawn.pdf', mixedPdf([['The lamp']]))) - (595 * 210) / 72)).toBeLessThanOrEqual(2);
  });
});

describe('a picture of things', () => {
  const size = { width: 800, height: 600 };

  /** Clouds of every size, like leaves, stones and water. */
  async function things(): Promise<Buffer> {
    let state = 5;
    const random = () => {
      state = (state * 48_271) % 2_147_483_647;
      return state / 2_147_483_647;
    };
    const sum = new Float64Array(size.width * size.height).fill(128);
    for (let octave = 0; octave < 7; octave++) {
      const [width, height] = [4 << octave, 3 << octave];
      const small = Buffer.from(Array.from({ length: width * height }, () => random() * 255));
      const clouds = await sharp(small, { raw: { width, height, channels: 1 } })
        .resize({ ...size, fit: 'fill', kernel: 'nearest' })
        .toColourspace('b-w')
        .raw()
        .toBuffer();
      for (const [at, level] of clouds.entries()) sum[at]! += (level - 128) * 0.72 ** octave;
    }
    return Buffer.from(sum.map((level) => Math.max(0, Math.min(255, level))));
  }
  const raw = { raw: { ...size, channels: 1 } } as const;
  const extract = async (name: string, picture: Buffer) => {
    const jpeg = await sharp(picture, raw).jpeg().toBuffer();
    return extractor.extract({ path: await saved(name, jpeg), kind: 'image' });
  };

  test('has no text: E2004', async () => {
    await expect(extract('things.jpg', await things())).rejects.toMatchObject({ code: 'E2004' });
  });

  test('with words on it has these words only', async () => {
    const poster = await things();
    const words = await lettering([{ text: 'Harbour festival on Sunday', x: 60, y: 90 }], { ...size, size: 48 });
    // A white band with print.
    for (let at = 0; at < size.width * 130; at++) poster[at] = words[at]!;
    const { sections } = await extract('poster.jpg', poster);
    expect(sections.map(({ text }) => text.trim())).toEqual(['Harbour festival on Sunday']);
  });
});
