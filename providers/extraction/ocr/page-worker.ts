import type { OcrPage } from '../../../domain/ai-jobs/features.js';
import { type ExtractionFailure, failureOf } from '../../../domain/extraction.js';
import { DEFAULT_OCR_LANGUAGE, type OcrLanguage } from '../../../domain/ocr-languages.js';
import type { ExtractionLimits } from '../limits.js';
import { type OcrEngine, type Recognized, startOcrEngine } from './engine.js';
import { openPdfPages } from './pdf-pages.js';
import { openFrames, type PageImage, prepareForOcr } from './picture.js';
import { type RepairedPage, repairPage, turnPage } from './repair-page.js';
import { eraseRulingLines } from './ruling-lines.js';

export interface PageTask {
  path: string;
  kind: 'pdf' | 'image';
  /** From 1, or null to count the pages. */
  page: number | null;
  limits: ExtractionLimits;
  /** Language of the text, and the folder with its data; not needed to count pages. */
  language?: OcrLanguage;
  languageData?: string;
  /** Whether to read the page without the lines that are drawn on it. */
  eraseLines?: boolean;
}
export type PageOutcome = { count: number } | ScannedPage | ExtractionFailure;

/** A recognised page, and the engine's own result for its picture. */
export interface ScannedPage {
  page: OcrPage;
  /** Size of the picture in pixels. */
  width: number;
  height: number;
  /** Tesseract's TSV, without its header. */
  tsv: string;
}

/** The engine is reused, which saves a sixth of the time, and restarted after some pages, because its memory only grows. */
const PAGES_PER_ENGINE = 20;
let engine: { pages: number; language: OcrLanguage; reader: OcrEngine } | undefined;

/** The work of an OCR process. The file is opened for each page, so that nothing of it stays in memory. */
export default async function run(task: PageTask): Promise<PageOutcome> {
  try {
    const pages = await openPages(task);
    let image: PageImage;
    try {
      if (task.page === null) return { count: pages.count };
      image = await pages.image(task.page);
    } finally {
      pages.close();
    }
    const { recognized, repaired } = await readUpright(await repairPage(image), task);
    const { width, height } = repaired;
    return { page: toPage(task.page, recognized, image, repaired), width, height, tsv: recognized.tsv };
  } catch (error) {
    return failureOf(error);
  }
}

/** Of 100. A page that is read with less may be upside down: those of the bench are read with 29 to 41. */
const DOUBTFUL = 45;

/** Reads a page, and once more upside down when it seems to be so. */
async function readUpright(page: RepairedPage, task: PageTask): Promise<Reading> {
  const first = await readPicture(page, task);
  if (first.recognized.isBlank || first.recognized.confidence >= DOUBTFUL) return first;
  const { onPage, ...turned } = await turnPage(page, 180);
  const second = await readPicture({ ...turned, onPage: (box) => page.onPage(onPage(box)) }, task);
  return second.recognized.confidence > first.recognized.confidence ? second : first;
}

interface Reading {
  recognized: Recognized;
  /** The picture that was read. */
  repaired: Pick<RepairedPage, 'width' | 'height' | 'onPage'>;
}

async function readPicture(
  repaired: Pick<RepairedPage, 'png' | 'width' | 'height' | 'onPage'>,
  task: PageTask,
): Promise<Reading> {
  const png = task.eraseLines ? await eraseRulingLines(repaired.png) : repaired.png;
  return { recognized: await recognize(png, task), repaired };
}

interface Pages {
  count: number;
  /** The upright grey image of a page or frame. @param number from 1 @throws ExtractionError E2001 cannot be decoded or rendered */
  image(number: number): Promise<PageImage>;
  close(): void;
}

/** @throws ExtractionError E2001 damaged, E2002 encrypted, E2003 too many pages or pixels */
async function openPages({ path, kind, limits }: PageTask): Promise<Pages> {
  if (kind === 'pdf') {
    const { count, render, close } = await openPdfPages(path, limits);
    return { count, image: render, close };
  }
  const frames = await openFrames(path, limits);
  return { count: frames.length, image: (number) => prepareForOcr(frames[number - 1]!()), close() {} };
}

/** One engine at a time, because each language takes memory. */
async function recognize(
  png: Buffer,
  { language = DEFAULT_OCR_LANGUAGE, languageData }: PageTask,
): Promise<Recognized> {
  if (engine && engine.language !== language) {
    const { reader: other } = engine;
    engine = undefined;
    await other.close();
  }
  engine ??= { pages: 0, language, reader: await startOcrEngine(language, languageData!) };
  const { reader } = engine;
  let last = ++engine.pages >= PAGES_PER_ENGINE;
  try {
    return await reader.recognize(png);
  } catch (error) {
    last = true;
    throw error;
  } finally {
    if (last) {
      engine = undefined;
      await reader.close();
    }
  }
}

/** @param image the page as it was @param repaired the picture that was read */
function toPage(
  page: number,
  { text, confidence, lines }: Recognized,
  { width, height }: PageImage,
  { onPage }: Pick<RepairedPage, 'onPage'>,
): OcrPage {
  const share = (pixels: number, total: number) => round(Math.min(1, Math.max(0, pixels / total)));
  return {
    page,
    text,
    confidence: lines.length === 0 ? 0 : round(confidence / 100),
    lines: lines.map(({ text, confidence, box }) => {
      const { x0, y0, x1, y1 } = onPage(box);
      const place = { left: share(x0, width), top: share(y0, height) };
      const size = { width: share(x1 - x0, width), height: share(y1 - y0, height) };
      return { text, confidence: round(confidence / 100), box: { ...place, ...size } };
    }),
  };
}

const round = (value: number) => Math.round(value * 10_000) / 10_000;
