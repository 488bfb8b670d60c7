import { type Extraction, ExtractionError, type FileKind } from '../../domain/extraction.js';
import { DEFAULT_LIMITS, type ExtractionLimits } from './limits.js';
import { createThreadPool, TaskLimitError } from './thread-pool.js';
import type { ExtractionOutcome, ExtractionTask } from './worker.js';

export { detectFileKind } from './detect-kind.js';
export type { ExtractionLimits } from './limits.js';

export interface ExtractorOptions {
  /** Documents parsed at the same time; each thread costs about 130 MB. Pictures have one thread of their own beside these. */
  threads?: number;
  /** Heap of one thread in MiB. */
  memoryMb?: number;
  /** For one file, without its wait for a thread. */
  timeoutMs?: number;
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
   * @throws ExtractionError when the file is at fault; the signal's reason when it was aborted; anything else is worth a retry
   */
  extract(source: ExtractionSource, signal?: AbortSignal): Promise<Extraction>;
  /** Ends the threads with whatever they are doing. */
  close(): Promise<void>;
}

/** Parsers in worker threads, each with a time and a memory limit (E2003 beyond them). */
export function createExtractor(options: ExtractorOptions = {}): Extractor {
  const { threads = 1, memoryMb = 256, timeoutMs = 120_000, limits } = options;
  const worker = new URL('./worker.js', import.meta.url);
  const documents = createThreadPool<ExtractionTask, ExtractionOutcome>({ worker, threads, memoryMb, timeoutMs });
  const pictures = createThreadPool<ExtractionTask, ExtractionOutcome>({ worker, threads: 1, memoryMb, timeoutMs });
  const settled = { ...DEFAULT_LIMITS, ...limits };

  async function extract({ path, kind }: ExtractionSource, signal?: AbortSignal): Promise<Extraction> {
    const pool = kind === 'image' ? pictures : documents;
    const outcome = await pool.run({ path, kind, limits: settled }, signal).catch((error: unknown) => {
      if (!(error instanceof TaskLimitError)) throw error;
      throw new ExtractionError('E2003', `Reading it took too much ${error.limit}.`);
    });
    if ('extraction' in outcome) return outcome.extraction;
    throw new ExtractionError(outcome.code, outcome.detail);
  }

  return {
    extract,
    async close() {
      await Promise.all([documents.close(), pictures.close()]);
    },
  };
}
