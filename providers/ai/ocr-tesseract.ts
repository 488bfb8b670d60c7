import { type FeatureOutput, type OcrPage, ocrPage } from '../../domain/ai-features.js';
import { type AiProvider, type InputFile, ProviderError, type ProviderOptions } from '../../domain/ai-provider.js';
import { DEFAULT_LIMITS } from '../extraction/limits.js';
import { createThreadPool, TaskLimitError } from '../extraction/thread-pool.js';
import { fileFailure } from './file-failure.js';
import type { AiLimits } from './limits.js';
import type { OcrOutcome, OcrTask } from './ocr/worker.js';

const MEMORY_MB = 192;
const HEARTBEAT_MS = 3_000;

/** Reads pictures and PDFs page by page, as many pages at once as there are threads; each finished page is kept as a part. */
export function createTesseractProvider(limits: AiLimits): AiProvider<'ocr/ocr_async'> & { close(): Promise<void> } {
  const pool = createThreadPool<OcrTask, OcrOutcome>({
    worker: new URL('./ocr/worker.js', import.meta.url),
    threads: limits.ocrThreads,
    memoryMb: MEMORY_MB,
    timeoutMs: limits.ocrPageTimeoutMs,
  });
  const settled = { ...DEFAULT_LIMITS, maxPages: limits.ocrPages, maxPixels: limits.imagePixels };

  async function ask(file: InputFile, page: number | null, signal: AbortSignal) {
    const kind = file.kind;
    if (kind !== 'pdf' && kind !== 'image')
      throw new ProviderError('The file is neither a PDF nor a picture (PNG, JPEG, WebP, TIFF, BMP or GIF).', false);
    const outcome = await pool.run({ path: file.path, kind, page, limits: settled }, signal).catch((error: unknown) => {
      if (!(error instanceof TaskLimitError)) throw error;
      throw fileFailure('E2003', `Reading ${page === null ? 'it' : `page ${page}`} took too much ${error.limit}.`);
    });
    if ('code' in outcome) throw fileFailure(outcome.code, outcome.detail);
    return outcome;
  }

  async function readPage(file: InputFile, page: number, parts: ProviderOptions['parts'], signal: AbortSignal) {
    const part = `page-${page}`;
    const kept = ocrPage.safeParse(await parts.load(part));
    if (kept.success) return kept.data;
    const outcome = await ask(file, page, signal);
    if (!('page' in outcome)) throw new Error('The thread counted pages instead of reading one.');
    await parts.save(part, outcome.page);
    return outcome.page;
  }

  return {
    subfeature: 'ocr/ocr_async',
    name: 'tesseract',
    models: null,
    async run({ file }, { parts }, signal, heartbeat) {
      // A page may take longer than a heartbeat may be away; the pool's limit sees to it that none takes for ever.
      const beating = setInterval(heartbeat, HEARTBEAT_MS);
      try {
        const counted = await ask(file, null, signal);
        const count = 'count' in counted ? counted.count : 0;
        const pages = await inLanes(count, limits.ocrThreads, signal, async (page, ending) => {
          const read = await readPage(file, page, parts, ending);
          heartbeat();
          return read;
        });
        return { output: toOutput(pages), original: pages };
      } finally {
        clearInterval(beating);
      }
    },
    close: () => pool.close(),
  };
}

/** Does the pages from 1 to `count`, some at a time. The first that fails ends the others and is thrown when they have ended. */
async function inLanes<T>(
  count: number,
  lanes: number,
  signal: AbortSignal,
  work: (page: number, ending: AbortSignal) => Promise<T>,
): Promise<T[]> {
  const failure = new AbortController();
  const ending = AbortSignal.any([signal, failure.signal]);
  const results: T[] = [];
  let next = 1;
  async function lane(): Promise<void> {
    while (next <= count) {
      ending.throwIfAborted();
      const page = next++;
      results[page - 1] = await work(page, ending);
    }
  }
  const ended = Array.from({ length: Math.min(lanes, count) }, () =>
    lane().catch((error: unknown) => failure.abort(error)),
  );
  await Promise.all(ended);
  signal.throwIfAborted();
  failure.signal.throwIfAborted();
  return results;
}

function toOutput(pages: OcrPage[]): FeatureOutput<'ocr/ocr_async'> {
  const text = pages.map((page) => page.text).filter((words) => words !== '');
  return { text: text.join('\n\n'), number_of_pages: pages.length, pages };
}
