import { type Checkpoints, noCheckpoints } from '../../domain/checkpoints.js';
import { type Extraction, ExtractionError, type FileKind } from '../../domain/extraction.js';
import { DEFAULT_LIMITS, type ExtractionLimits } from './limits.js';
import { createPageReader, type PageReader } from './page-reader.js';
import { readPicture, readScans } from './scans.js';
import { createThreadPool, TaskLimitError } from './thread-pool.js';
import type { ExtractionOutcome, ExtractionTask, ParsedKind } from './worker.js';

export { detectFileKind } from './detect-kind.js';
export type { ExtractionLimits } from './limits.js';

export interface ExtractorOptions {
  /** Documents parsed at the same time; each thread costs about 130 MB. */
  threads?: number;
  /** Heap of one thread in MiB. */
  memoryMb?: number;
  /** For one file without its scanned pages, and without its wait for a thread. */
  timeoutMs?: number;
  /** Scanned pages read at the same time, over all files and AI jobs; each costs a core and about 300 MB. */
  ocrThreads?: number;
  /** For one scanned page, without its wait for a thread. */
  ocrPageTimeoutMs?: number;
  limits?: Partial<ExtractionLimits>;
}

export interface ExtractionSource {
  /** On the local disk; read by the thread, never by the caller's event loop. */
  path: string;
  kind: FileKind;
  /** As it was sent. The kind was decided by content, so no parser trusts the name. */
  filename?: string;
}

export interface Extractor {
  /**
   * @param checkpoints holds the scanned pages that an earlier attempt has read, and takes those read now
   * @throws ExtractionError when the file is at fault; the signal's reason when it was aborted; anything else is worth a retry
   */
  extract(source: ExtractionSource, signal?: AbortSignal, checkpoints?: Checkpoints): Promise<Extraction>;
  /** What reads scanned pages here, for whoever has only such. */
  pages: PageReader;
  /** Ends the threads with whatever they are doing. */
  close(): Promise<void>;
}

/** Parsers and OCR in worker threads, each with a time and a memory limit (E2003 beyond them). */
export function createExtractor(options: ExtractorOptions = {}): Extractor {
  const { threads = 1, memoryMb = 256, timeoutMs = 120_000, ocrThreads = 2, ocrPageTimeoutMs = 120_000 } = options;
  const worker = new URL('./worker.js', import.meta.url);
  const documents = createThreadPool<ExtractionTask, ExtractionOutcome>({ worker, threads, memoryMb, timeoutMs });
  const pages = createPageReader({ threads: ocrThreads, timeoutMs: ocrPageTimeoutMs });
  const limits = { ...DEFAULT_LIMITS, ...options.limits };

  async function parse(path: string, kind: ParsedKind, signal: AbortSignal) {
    const outcome = await documents.run({ path, kind, limits }, signal).catch((error: unknown) => {
      if (!(error instanceof TaskLimitError)) throw error;
      throw new ExtractionError('E2003', `Reading it took too much ${error.limit}.`);
    });
    if ('code' in outcome) throw new ExtractionError(outcome.code, outcome.detail);
    return outcome;
  }

  return {
    async extract({ path, kind }, signal = new AbortController().signal, checkpoints = noCheckpoints) {
      const reading = { pages, limits, checkpoints, signal };
      if (kind === 'image') return readPicture(path, reading);
      const { extraction, scans } = await parse(path, kind, signal);
      return scans.length === 0 ? extraction : readScans(path, extraction, scans, reading);
    },
    pages,
    async close() {
      await Promise.all([documents.close(), pages.close()]);
    },
  };
}
