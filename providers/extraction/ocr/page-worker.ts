import { DEFAULT_OCR_LANGUAGE, type OcrLanguage } from '../../../domain/ocr-languages.js';
import type { ExtractionLimits } from '../limits.js';
import { type OcrEngine, type Recognized, startOcrEngine } from './engine.js';
import { openPages } from './open-pages.js';
import type { ScannedPage } from './page-reader.js';
import type { PageImage, ScannedFile } from './picture.js';
import { type RepairedPage, repairPage, turnPage } from './repair-page.js';
import { eraseRulingLines } from './ruling-lines.js';
import { toPage } from './to-page.js';

export interface PageTask extends ScannedFile {
  /** From 1, or null to count the pages. */
  page: number | null;
  limits: ExtractionLimits;
  /** Language of the text, and the folder with its data; not needed to count pages. */
  language?: OcrLanguage;
  languageData?: string;
  /** Whether to read the page without the lines that are drawn on it. */
  eraseLines?: boolean;
}
export type PageOutcome = { count: number } | ReadPage;

interface ReadPage extends ScannedPage {
  /** Whether the second recogniser may read it better. */
  isDoubtful: boolean;
  /** Whether it was turned by half after its repair. */
  upsideDown: boolean;
}

/** The engine is reused, which saves a sixth of the time, and restarted after some pages, because its memory only grows. */
const PAGES_PER_ENGINE = 20;
let engine: { pages: number; language: OcrLanguage; reader: OcrEngine } | undefined;

/** The work of an OCR process. The file is opened for each page, so that nothing of it stays in memory. @throws ExtractionError */
export default async function run(task: PageTask): Promise<PageOutcome> {
  const pages = await openPages(task, task.limits);
  let image: PageImage;
  try {
    if (task.page === null) return { count: pages.count };
    image = await pages.image(task.page);
  } finally {
    pages.close();
  }
  const { recognized, repaired, upsideDown } = await readUpright(await repairPage(image), task);
  const { width, height } = repaired;
  return {
    page: toPage(task.page, recognized, image, repaired),
    width,
    height,
    tsv: recognized.tsv,
    isDoubtful: !recognized.isBlank && recognized.confidence < DOUBTFUL,
    upsideDown,
  };
}

/** Of 100. The second recogniser reads pages better that the engine has read with less; those without mistakes have 94 or more. */
const DOUBTFUL = 92;
/** Of 100. A page that is read with less may be upside down: those of the bench are read with 29 to 41. */
const UPSIDE_DOWN = 45;

/** Reads a page, and once more upside down when it seems to be so. */
async function readUpright(page: RepairedPage, task: PageTask): Promise<Reading> {
  const first = { recognized: await recognize(page, task), repaired: page, upsideDown: false };
  if (first.recognized.isBlank || first.recognized.confidence >= UPSIDE_DOWN) return first;
  const turned = await turnPage(page, 180);
  const recognized = await recognize(turned, task);
  return recognized.confidence > first.recognized.confidence
    ? { recognized, repaired: turned, upsideDown: true }
    : first;
}

interface Reading {
  recognized: Recognized;
  /** The picture that was read. */
  repaired: RepairedPage;
  upsideDown: boolean;
}

/** One engine at a time, because each language takes memory. */
async function recognize(
  page: RepairedPage,
  { language = DEFAULT_OCR_LANGUAGE, languageData, eraseLines }: PageTask,
): Promise<Recognized> {
  const png = eraseLines ? await eraseRulingLines(page.png) : page.png;
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
