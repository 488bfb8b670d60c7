import type { Graph } from '../../domain/content/graph.js';
import { createThreadPool, TaskLimitError } from '../thread-pool.js';

export interface GraphExtractorOptions {
  threads?: number;
  /** For one item, without waiting for a thread. */
  timeoutMs?: number;
}

export interface GraphExtractor {
  /**
   * Extracts the entities and relations of one item, bounded in number, evidence and text. A text that exceeds the time or
   * memory limit has an empty graph: it stays searchable, and a retry would exceed the limit again.
   * @throws the signal's reason when it was aborted
   */
  extract(chunks: { chunk_id: string; text: string }[], signal?: AbortSignal): Promise<Graph>;
  /** Terminates the threads and their running tasks. */
  close(): Promise<void>;
}

const MEMORY_MB = 192;

/** Extracts knowledge graphs in worker threads, so that the event loop stays free. */
export function createGraphExtractor({ threads = 1, timeoutMs = 30_000 }: GraphExtractorOptions = {}): GraphExtractor {
  const pool = createThreadPool<{ chunk_id: string; text: string }[], Graph>({
    worker: new URL('./build-graph.js', import.meta.url),
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
