import { type OcrPage, ocrPage } from '../../domain/ai-jobs/features.js';
import { type Checkpoints, noCheckpoints } from '../../domain/checkpoints.js';
import { ExtractionError } from '../../domain/extraction.js';
import { inLanes } from './lanes.js';
import type { ExtractionLimits } from './limits.js';
import type { PageOutcome, PageTask } from './page-worker.js';
import { createThreadPool, TaskLimitError } from './thread-pool.js';

export interface PageReaderOptions {
  /** Pages read at the same time, over all files. Each costs a core and about 300 MB. */
  threads: number;
  /** For one page, without its wait for a thread. */
  timeoutMs: number;
}

/** A file with pages to look at, on the local disk. */
export interface Scanned {
  path: string;
  kind: 'pdf' | 'image';
}

export interface ReadingOptions {
  limits: ExtractionLimits;
  /** Pages wanted, from 1; all when left out. */
  pages?: readonly number[];
  /** Each finished page is kept as `page-<number>`; what is there already is not read again. */
  checkpoints?: Checkpoints;
  /** Told of each finished page. */
  onPage?: () => void;
}

export interface PageReader {
  /**
   * Reads pages by OCR, some side by side, and gives them in their order.
   * @throws ExtractionError when the file is at fault, the signal's reason, or what `checkpoints` threw
   */
  read(file: Scanned, options: ReadingOptions, signal: AbortSignal): Promise<OcrPage[]>;
  close(): Promise<void>;
}

/** Heap of one thread; the recognition's own memory lies beside it. */
const MEMORY_MB = 192;

/** Reads scans: PDF pages as they look and frames of pictures, each in a thread, for items and AI jobs alike. */
export function createPageReader(options: PageReaderOptions): PageReader {
  const pool = createThreadPool<PageTask, PageOutcome>({
    worker: new URL('./page-worker.js', import.meta.url),
    threads: options.threads,
    memoryMb: MEMORY_MB,
    timeoutMs: options.timeoutMs,
  });

  async function ask(file: Scanned, page: number | null, limits: ExtractionLimits, signal: AbortSignal) {
    const outcome = await pool.run({ ...file, page, limits }, signal).catch((error: unknown) => {
      if (!(error instanceof TaskLimitError)) throw error;
      throw new ExtractionError(
        'E2003',
        `Reading ${page === null ? 'it' : `page ${page}`} took too much ${error.limit}.`,
      );
    });
    if ('code' in outcome) throw new ExtractionError(outcome.code, outcome.detail);
    return outcome;
  }

  async function allPages(file: Scanned, limits: ExtractionLimits, signal: AbortSignal): Promise<number[]> {
    const counted = await ask(file, null, limits, signal);
    return Array.from({ length: 'count' in counted ? counted.count : 0 }, (_, index) => index + 1);
  }

  async function readPage(
    file: Scanned,
    page: number,
    limits: ExtractionLimits,
    checkpoints: Checkpoints,
    signal: AbortSignal,
  ) {
    const step = `page-${page}`;
    const kept = ocrPage.safeParse(await checkpoints.load(step));
    if (kept.success) return kept.data;
    const outcome = await ask(file, page, limits, signal);
    if (!('page' in outcome)) throw new Error('The thread counted pages instead of reading one.');
    await checkpoints.save(step, outcome.page);
    return outcome.page;
  }

  return {
    async read({ path, kind }, { limits, pages, checkpoints = noCheckpoints, onPage }, signal) {
      const file = { path, kind };
      const wanted = pages ?? (await allPages(file, limits, signal));
      return inLanes(wanted, options.threads, signal, async (page, ending) => {
        const read = await readPage(file, page, limits, checkpoints, ending);
        onPage?.();
        return read;
      });
    },
    close: () => pool.close(),
  };
}
