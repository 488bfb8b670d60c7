import type { Graph } from '../../domain/content/graph.js';
import { createThreadPool, TaskLimitError } from '../thread-pool.js';

export interface GraphExtractorOptions {
  threads?: number;
  /** For one item, without its wait for a thread. */
  timeoutMs?: number;
}

export interface GraphExtractor {
  /**
   * The entities and relations of one item. Bounded in number, evidence and text read; a text that takes too long has an
   * empty graph: it stays searchable, and trying again would take as long.
   * @throws the signal's reason when it was aborted
   */
  extract(chunks: { chunk_id: string; text: string }[], signal?: AbortSignal): Promise<Graph>;
  /** Ends the threads with whatever they are doing. */
  close(): Promise<void>;
}

const MEMORY_MB = 192;

/** Reads knowledge graphs out of text in worker threads, so that the event loop stays free. */
export function createGraphExtractor({ threads = 1, timeoutMs = 30_000 }: GraphExtractorOptions = {}): GraphExtractor {
  const worker = new URL('./worker.js', import.meta.url);
  const pool = createThreadPool<{ chunk_id: string; text: string }[], Graph>({
    worker,
    threads,
    timeoutMs,
    memoryMb: MEMORY_MB,
  });
  return {
    extract: (chunks, signal) =>
      pool.run(chunks, signal).catch((error: unknown) => {
        if (error instanceof TaskLimitError) return { entities: [], relations: [] };
        throw error;
      }),
    close: () => pool.close(),
  };
}
