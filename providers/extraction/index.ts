import { type Checkpoints, noCheckpoints } from '../../domain/checkpoints.js';
import type { Extraction, FileKind } from '../../domain/extraction.js';
import { createThreadPool } from '../thread-pool.js';
import { DEFAULT_LIMITS, type ExtractionLimits } from './limits.js';
import { createPageReader, type PageReader } from './ocr/page-reader.js';
import { readPicture, readScans } from './ocr/scans.js';
import { runOnFile } from './run-on-file.js';
import type { ExtractionOutcome, ExtractionTask } from './worker.js';

export { describeFile, detectFileKind } from './detect-kind.js';
export type { ExtractionLimits } from './limits.js';

export interface ExtractorOptions {
  /** Documents parsed at the same time. Each thread takes about 130 MB. */
  threads?: number;
  /** Heap of one thread in MiB. */
  memoryMb?: number;
  /** For one file, without its scanned pages and without waiting for a thread. */
  timeoutMs?: number;
  /** Scanned pages read at the same time, over all items and AI jobs. Each takes a core and about 300 MB. */
  ocrThreads?: number;
  /** For one scanned page, without waiting for a thread. */
  ocrPageTimeoutMs?: number;
  limits?: Partial<ExtractionLimits>;
}

export interface ExtractionSource {
  /** On the local disk. */
  path: string;
  kind: FileKind;
}

export interface Extractor {
  /**
   * Extracts a document's text by page, slide, sheet or heading.
   * @param checkpoints holds the scanned pages that an earlier attempt read, and takes those read now
   * @throws ExtractionError when the file is at fault; the signal's reason when it was aborted; any other error is retryable
   */
  extract(source: ExtractionSource, signal?: AbortSignal, checkpoints?: Checkpoints): Promise<Extraction>;
  /** The OCR that the extractor uses, for files that are read by OCR alone. */
  pages: PageReader;
  /** Terminates the threads and their running tasks. */
  close(): Promise<void>;
}

/** Parsers and OCR in worker threads, each with a time and a memory limit (E2003 when exceeded). */
export function createExtractor(options: ExtractorOptions = {}): Extractor {
  const { threads = 1, memoryMb = 256, timeoutMs = 120_000, ocrThreads = 2, ocrPageTimeoutMs = 120_000 } = options;
  const worker = new URL('./worker.js', import.meta.url);
  const documents = createThreadPool<ExtractionTask, ExtractionOutcome>({ worker, threads, memoryMb, timeoutMs });
  const pages = createPageReader({ threads: ocrThreads, timeoutMs: ocrPageTimeoutMs });
  const limits = { ...DEFAULT_LIMITS, ...options.limits };

  return {
    async extract({ path, kind }, signal = new AbortController().signal, checkpoints = noCheckpoints) {
      const reading = { pages, limits, checkpoints, signal };
      if (kind === 'image') return readPicture(path, reading);
      const { extraction, scans } = await runOnFile(documents, { path, kind, limits }, signal);
      return scans.length === 0 ? extraction : readScans(path, extraction, scans, reading);
    },
    pages,
    async close() {
      await Promise.all([documents.close(), pages.close()]);
    },
  };
}
