import { mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import sharp, { type Sharp } from 'sharp';
import type { FeatureOutput } from '../../domain/ai-jobs/features.js';
import type { AiProviders, InputFile, ProviderOptions } from '../../domain/ai-jobs/provider.js';
import type { OcrLanguage } from '../../domain/ocr-languages.js';
import { type AiLimits, createAiProviders } from '../../providers/ai-jobs/index.js';
import type { Extractor } from '../../providers/extraction/index.js';
import { lettering } from '../fixtures/lettering.js';
import { type Scan, scan, scannedPdf } from '../fixtures/scanned-files.js';
import { startExtractor } from '../support/extractor.js';
import { failsForGood } from './permanent-error.js';

const FIXTURES = join(process.cwd(), 'test/fixtures');
const PAGES = [
  ['Harbour notice of the second of March', 'The southern breakwater is closed', 'until the wreck has been removed.'],
  ['Vessels over forty metres wait outside', 'and call the pilot on channel twelve.'],
  ['Signed by Ingrid Halvorsen', 'Vestby harbour office, telephone 555 0142'],
];
let folder: string;
let extractor: Extractor;
let providers: AiProviders;
let scans: Scan[];
let threePages: InputFile;
let onePage: InputFile;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'postback-ocr-'));
  extractor = startExtractor();
  providers = createAiProviders({ extractor });
  scans = await Promise.all(PAGES.map((lines) => scan(lines)));
  threePages = await file('notice.pdf', scannedPdf(scans), 'pdf');
  onePage = await file('page.pdf', scannedPdf(scans.slice(0, 1)), 'pdf');
});
afterAll(async () => {
  await providers.close();
  await extractor.close();
  await rm(folder, { recursive: true });
});

async function file(filename: string, bytes: Buffer, kind: InputFile['kind']): Promise<InputFile> {
  const path = join(folder, filename);
  await writeFile(path, bytes);
  return { path, filename, kind, mime_type: 'application/octet-stream', size: bytes.length };
}
async function fixture(filename: string): Promise<InputFile> {
  const path = join(FIXTURES, filename);
  return { path, filename, kind: 'pdf', mime_type: 'application/pdf', size: (await stat(path)).size };
}

/** Checkpoints in memory, which outlive a simulated crash. */
function memoryCheckpoints(steps = new Map<string, unknown>()) {
  const saved: string[] = [];
  const checkpoints: ProviderOptions['checkpoints'] = {
    load: async (step) => steps.get(step),
    save: async (step, value) => {
      steps.set(step, value);
      saved.push(step);
    },
  };
  return { steps, saved, checkpoints };
}

interface Run {
  language?: OcrLanguage;
  using?: AiProviders;
  checkpoints?: ProviderOptions['checkpoints'];
  signal?: AbortSignal;
}
async function read(input: InputFile, run: Run = {}): Promise<FeatureOutput<'ocr/ocr_async'>> {
  const {
    language = 'en',
    using = providers,
    checkpoints = memoryCheckpoints().checkpoints,
    signal = new AbortController().signal,
  } = run;
  const provider = using.find('ocr/ocr_async', 'tesseract')!;
  const result = await provider.run({ file: input, language }, { model: null, checkpoints }, signal);
  return result.output as FeatureOutput<'ocr/ocr_async'>;
}
async function readWith(limits: Partial<AiLimits>, input: InputFile) {
  const using = createAiProviders({ extractor, limits });
  try {
    return await read(input, { using });
  } finally {
    await using.close();
  }
}

/** A picture with one line of text at its beginning. */
async function stripOf(text: string, shape: { width: number; height: number; size: number }): Promise<Sharp> {
  const data = await lettering([{ text, x: 10, y: 8 + shape.size }], shape);
  return sharp(data, { raw: { width: shape.width, height: shape.height, channels: 1 } }).toColourspace('b-w');
}

describe('scans', () => {
  test('the pages of a scanned PDF are read in order, with the position of each line', async () => {
    const output = await read(threePages);
    expect(output.number_of_pages).toBe(3);
    expect(output.pages.map(({ page, text }) => ({ page, text }))).toEqual(
      PAGES.map((lines, index) => ({ page: index + 1, text: lines.join('\n') })),
    );
    expect(output.text).toBe(PAGES.map((lines) => lines.join('\n')).join('\n\n'));
    const [first] = output.pages;
    expect(first!.confidence).toBeGreaterThan(0.8);
    expect(first!.lines.map((line) => line.text)).toEqual(PAGES[0]);
    // The first line begins 80 of 1,240 pixels from the left; each line is 60 pixels below the previous one.
    const boxes = first!.lines.map((line) => line.box);
    expect(boxes[0]!.left).toBeCloseTo(80 / 1_240, 1);
    expect(boxes[1]!.top - boxes[0]!.top).toBeCloseTo(60 / scans[0]!.height, 1);
    expect(boxes[2]!.top).toBeGreaterThan(boxes[1]!.top + boxes[1]!.height / 2);
  });

  test("the original response is Tesseract's own, and only where it is needed", async () => {
    const options = { model: null, checkpoints: memoryCheckpoints().checkpoints };
    const run = (original: boolean) =>
      providers
        .find('ocr/ocr_async', 'tesseract')!
        .run({ file: onePage }, { ...options, original }, new AbortController().signal);
    const { output, original } = await run(true);
    expect((output as FeatureOutput<'ocr/ocr_async'>).number_of_pages).toBe(1);
    // Level, numbers of page, block, paragraph, line and word, left, top, width, height, confidence, text.
    const word = /^5\t1\t(\d+\t){8}[\d.]+\tHarbour$/m;
    expect(original).toMatchObject([{ page: 1, tsv: expect.stringMatching(word) }]);
    expect((await run(false)).original).toBeUndefined();
  });

  test('rotated pages are read upright', async () => {
    const { jpeg, height, width } = scans[0]!;
    const turned = {
      jpeg: await sharp(jpeg).rotate(270).toColourspace('b-w').jpeg().toBuffer(),
      width: height,
      height: width,
    };
    expect((await read(await file('turned.pdf', scannedPdf([turned], 90), 'pdf'))).text).toBe(PAGES[0]!.join('\n'));
  });

  test('a PDF with a text layer is read from its rendered pages', async () => {
    const output = await read(await fixture('report.pdf'));
    expect(output.number_of_pages).toBe(2);
    expect(output.pages[1]!.text).toContain('Ingrid Vale');
  });

  test('every frame of a TIFF is a page', async () => {
    const frames = await Promise.all(
      scans.slice(0, 2).map(({ jpeg }) => sharp(jpeg).resize(1_240, 340, { fit: 'contain', background: '#f7f5ee' })),
    );
    const pictures = await Promise.all(frames.map((frame) => frame.png().toBuffer()));
    const tiff = await sharp(pictures, { join: { animated: true } })
      .tiff()
      .toBuffer();
    const output = await read(await file('frames.tiff', tiff, 'image'));
    expect(output.pages.map(({ text }) => text)).toEqual(PAGES.slice(0, 2).map((lines) => lines.join('\n')));
  });

  test.each([
    ['much wider than high', 2_400, 60],
    ['wider than the engine takes', 40_000, 60],
    ['higher than the engine takes', 60, 40_000],
  ])('a picture %s is read', async (_what, width, height) => {
    const text = width === 60 ? 'Bay' : 'The southern breakwater is closed';
    const strip = await stripOf(text, { width, height, size: width === 60 ? 24 : 34 });
    expect((await read(await file('strip.png', await strip.png().toBuffer(), 'image'))).text).toBe(text);
  });

  test('a scan wider than the engine takes is read from a PDF', async () => {
    const [text, width, height] = ['The southern breakwater is closed', 40_000, 134];
    const strip = await stripOf(text, { width, height, size: 60 });
    const page = { jpeg: await strip.jpeg().toBuffer(), width, height };
    expect((await read(await file('strip.pdf', scannedPdf([page]), 'pdf'))).text).toBe(text);
  });

  test('an empty page is an empty page, not a failure', async () => {
    const output = await read(await file('blank.pdf', scannedPdf([await scan(Array(8).fill(''))]), 'pdf'));
    expect(output).toEqual({
      text: '',
      number_of_pages: 1,
      pages: [{ page: 1, text: '', confidence: 0, lines: [] }],
    });
  });
});

describe('tables', () => {
  const FEES = [
    ['Ship', 'Berth', 'Nights', 'Fee'],
    ['Heron', 'North', '30', '40.00'],
    ['Blue Kestrel', 'South', '10', '12.50'],
    ['Tern', '', '14', '160.00'],
    ['Anna of Vestby', 'East', '21', '90.00'],
  ];
  const lines = (rows: string[][]) => rows.map((row) => row.join('\t'));

  async function tablesOf(...pages: Scan[]) {
    const input = await file('tables.pdf', scannedPdf(pages), 'pdf');
    const options = { model: null, checkpoints: memoryCheckpoints().checkpoints };
    const provider = providers.find('ocr/ocr_tables_async', 'tesseract')!;
    const { output, original } = await provider.run({ file: input }, options, new AbortController().signal);
    return { ...(output as FeatureOutput<'ocr/ocr_tables_async'>), original };
  }
  const texts = ({ rows }: FeatureOutput<'ocr/ocr_tables_async'>['tables'][number]) =>
    rows.map(({ cells }) => cells.map(({ text }) => text));

  test('rows and columns are found with and without lines around the cells, and text around a table is left out', async () => {
    const [above, below] = ['Harbour fees of the year', 'All fees are due on the day of departure.'];
    const { number_of_pages, tables, original } = await tablesOf(
      await scan([above, ...lines(FEES), below]),
      await scan(lines(FEES), 1_240, { ruled: true }),
    );
    expect(number_of_pages).toBe(2);
    expect(tables.map(({ page }) => page)).toEqual([1, 2]);
    expect(tables.map(texts)).toEqual([FEES, FEES]);
    const [table] = tables;
    expect(table).toMatchObject({ number_of_rows: 5, number_of_columns: 4 });
    const [tern] = table!.rows.filter(({ cells }) => cells[0]!.text === 'Tern');
    expect(tern!.cells[1]).toEqual({ text: '', confidence: 0, box: null });
    // The second column begins at the first tab stop.
    expect(table!.rows[0]!.cells[1]!.box!.left).toBeCloseTo((80 + 270) / 1_240, 1);
    expect(tern!.cells[0]!.confidence).toBeGreaterThan(0.8);
    // Tesseract's own result.
    expect(original).toMatchObject([
      { page: 1, tsv: expect.stringMatching(/\tKestrel$/m) },
      { page: 2, tsv: expect.stringMatching(/\tKestrel$/m) },
    ]);
  });

  test('two tables of a page are found as two, and running text is not a table', async () => {
    const rain = [
      ['Month', 'Rain'],
      ['May', '12 mm'],
      ['June', '90 mm'],
    ];
    const pages = [await scan([...lines(FEES), '', '', '', '', ...lines(rain)]), scans[0]!];
    expect((await tablesOf(...pages)).tables.map(texts)).toEqual([FEES, rain]);
  });
});

describe('checkpoints', () => {
  test('an interrupted run continues after its last finished page', async () => {
    const oneByOne = startExtractor({ ocrProcesses: 1 });
    const single = createAiProviders({ extractor: oneByOne });
    const { steps, saved, checkpoints } = memoryCheckpoints();
    const stop = new AbortController();
    const reason = new Error('the worker is shutting down');
    const interrupted: ProviderOptions['checkpoints'] = {
      load: checkpoints.load,
      save: async (step, value) => {
        await checkpoints.save(step, value);
        if (step === 'page-1') stop.abort(reason);
      },
    };
    await expect(read(threePages, { using: single, checkpoints: interrupted, signal: stop.signal })).rejects.toBe(
      reason,
    );
    expect(saved).toEqual(['page-1']);

    const next = memoryCheckpoints(steps);
    const output = await read(threePages, { using: single, checkpoints: next.checkpoints });
    expect(next.saved).toEqual(['page-2', 'page-3']);
    expect(output.pages.map(({ text }) => text)).toEqual(PAGES.map((lines) => lines.join('\n')));
    await single.close();
    await oneByOne.close();
  });

  test('a saved page is used unless it is malformed', async () => {
    const page = { page: 1, text: 'as it was saved', confidence: 1, lines: [] };
    const { checkpoints, saved } = memoryCheckpoints(
      new Map<string, unknown>([
        ['page-1', page],
        ['page-2', { page: 2, text: null }],
      ]),
    );
    const output = await read(threePages, { checkpoints });
    expect(output.pages[0]).toEqual(page);
    expect(output.pages[1]!.text).toBe(PAGES[1]!.join('\n'));
    expect(saved.sort()).toEqual(['page-2', 'page-3']);
  });

  test('a run aborted in the middle of a page ends, and the processes can read the next file', async () => {
    const stop = new AbortController();
    const reason = new Error('cancelled');
    const checkpoints: ProviderOptions['checkpoints'] = {
      // Called right before a page is given to a process.
      load: async () => void setImmediate(() => stop.abort(reason)),
      save: async () => {},
    };
    await expect(read(threePages, { checkpoints, signal: stop.signal })).rejects.toBe(reason);
    expect((await read(onePage)).number_of_pages).toBe(1);
  });
});

describe('files that cannot be read', () => {
  test('errors name the exceeded limit: pages, pixels, time', async () => {
    await failsForGood(readWith({ ocrPages: 2 }, threePages), /It has 3 pages; at most 2 are allowed/);
    const picture = await file('large.png', await sharp(scans[0]!.jpeg).png().toBuffer(), 'image');
    await failsForGood(readWith({ imagePixels: 10_000 }, picture), /The image has 1240 x 340 pixels/);
    const tooFast = startExtractor({ ocrPageTimeoutMs: 1 });
    await failsForGood(read(threePages, { using: createAiProviders({ extractor: tooFast }) }), /took too much time/);
    await tooFast.close();
  });

  test('encrypted, damaged and truncated files are rejected with the reason', async () => {
    await failsForGood(fixture('encrypted.pdf').then(read), /encrypted. Remove the password and send it again/);
    const whole = scannedPdf(scans);
    await failsForGood(read(await file('cut.pdf', whole.subarray(0, whole.length / 2), 'pdf')), /The end of the file/);
    await failsForGood(read(await file('odd.pdf', Buffer.from('%PDF-1.4\nnothing\n%%EOF\n'), 'pdf')), /damaged/);
    await failsForGood(read(await file('none.pdf', scannedPdf([]), 'pdf')), /It has no pages/);
    await failsForGood(read(await file('cut.jpg', scans[0]!.jpeg.subarray(0, 5_000), 'image')), /damaged/);
  });

  test('a file without pages to render is rejected', async () =>
    failsForGood(read(await file('notes.docx', Buffer.from('x'), 'docx')), /neither a PDF nor a picture/));

  test('a missing file is an internal error', async () => {
    const missing = read({ ...threePages, path: join(folder, 'missing.pdf') });
    await expect(missing).rejects.toThrow(/ENOENT/);
    await expect(missing).rejects.not.toMatchObject({ name: 'ProviderError' });
  });
});

describe('OCR in a language', () => {
  // Pictures of text in DejaVu and Noto, without the fonts.
  test.each<[OcrLanguage, string]>([
    ['de', 'Die Lotsen grüßen über Öl-Fässer.\nGroße Schiffe müssen draußen warten.'],
    ['uk', 'Гавань зачинена до ранку.\nСвітло маяка видно здалеку.'],
    ['ar', 'الميناء مغلق حتى الصباح'],
    ['hi', 'बंदरगाह सुबह तक बंद है'],
    ['ja', '港は朝まで閉まっています。\n灯台の光は遠くから見えます。'],
    ['zh', '港口明天早上开放。\n船长在办公室等待。'],
  ])('reads %s', async (language, text) => {
    const path = join(FIXTURES, 'scripts', `${language}.png`);
    const { size } = await stat(path);
    const picture: InputFile = { path, filename: 'sign.png', kind: 'image', mime_type: 'image/png', size };
    expect((await read(picture, { language })).text).toBe(text);
  });
});
