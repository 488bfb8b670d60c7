import type { OcrPage } from '../../domain/ai-jobs/features.js';
import { ExtractionError, type ItemErrorCode } from '../../domain/extraction.js';
import type { ExtractionLimits } from './limits.js';
import { type OcrEngine, type Recognized, startOcrEngine } from './ocr.js';
import { openPageImages } from './page-images.js';
import type { PageImage } from './picture.js';

export interface PageTask {
  path: string;
  kind: 'pdf' | 'image';
  /** From 1, or null to have the pages counted. */
  page: number | null;
  limits: ExtractionLimits;
}
/** Errors cross the thread boundary as values: a class does not survive it. */
export type PageOutcome = { count: number } | { page: OcrPage } | { code: ItemErrorCode; detail?: string };

/** The engine is kept from page to page, which saves a sixth of the time, and ended now and then: it only grows. */
const PAGES_PER_ENGINE = 20;
let engine: { pages: number; reader: OcrEngine } | undefined;

/** Entry point of a thread that reads pages. The file is opened for each, so that nothing of it stays in memory. */
export default async function run(task: PageTask): Promise<PageOutcome> {
  try {
    const pages = await openPageImages(task.path, task.kind, task.limits);
    let image: PageImage;
    try {
      if (task.page === null) return { count: pages.count };
      image = await pages.image(task.page);
    } finally {
      pages.close();
    }
    return { page: toPage(task.page, await recognize(image.png), image) };
  } catch (error) {
    if (error instanceof ExtractionError) return { code: error.code, detail: error.detail };
    throw error;
  }
}

async function recognize(png: Buffer): Promise<Recognized> {
  engine ??= { pages: 0, reader: await startOcrEngine() };
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

function toPage(page: number, { text, confidence, lines }: Recognized, { width, height }: PageImage): OcrPage {
  const share = (pixels: number, of: number) => round(Math.min(1, Math.max(0, pixels / of)));
  return {
    page,
    text,
    confidence: lines.length === 0 ? 0 : round(confidence / 100),
    lines: lines.map(({ text, confidence, box }) => ({
      text,
      confidence: round(confidence / 100),
      box: {
        left: share(box.x0, width),
        top: share(box.y0, height),
        width: share(box.x1 - box.x0, width),
        height: share(box.y1 - box.y0, height),
      },
    })),
  };
}

const round = (value: number) => Math.round(value * 10_000) / 10_000;
