import type { Graph, GraphText } from '../../domain/content/graph.js';
import { createSharedCalls } from '../../domain/shared-calls.js';
import { createProcessPool } from '../isolation/pool.js';
import { TaskLimitError } from '../isolation/protocol.js';

export interface GraphExtractorOptions {
  /** For one item, without waiting for a process. */
  timeoutMs?: number;
  /** How long the process for long texts waits for the next. */
  idleMs?: number;
}

interface Extraction {
  chunks: GraphText[];
  signal?: AbortSignal | undefined;
  org?: string | undefined;
}

export interface GraphExtractor {
  /**
   * Extracts the entities and relations of one item, bounded in number, evidence and text. A text that exceeds the time or
   * memory limit has an empty graph: it stays searchable, and a retry would exceed the limit again.
   * @param org whose item it is: organisations take turns
   * @throws ProcessLostError when its process crashed or was killed; the signal's reason when it was aborted
   */
  extract(chunks: GraphText[], signal?: AbortSignal, org?: string): Promise<Graph>;
  /** Kills the processes with their running tasks. */
  close(): Promise<void>;
}

const MEMORY_MB = 192;
/** Characters of a short text. Short texts have a process of their own, so that they do not wait behind long ones. */
const SHORT = 64 * 1024;

/** Characters of a note. Notes that wait for the process go to it together, because a message costs more than a note. */
const NOTE = 2 * 1024;

/** Extracts knowledge graphs in child processes. One for short texts is kept running, because loading the model takes long. */
export function createGraphExtractor({ timeoutMs = 30_000, idleMs }: GraphExtractorOptions = {}): GraphExtractor {
  const options = {
    worker: new URL('./build-graph.js', import.meta.url),
    processes: 1,
    timeoutMs,
    memoryMb: MEMORY_MB,
  };
  const short = createProcessPool<GraphText[][], Graph[]>({ ...options, idleMs: Number.POSITIVE_INFINITY });
  const long = createProcessPool<GraphText[][], Graph[]>({ ...options, idleMs });

  const alone = async (pool: typeof short, { chunks, signal, org }: Extraction): Promise<Graph> => {
    try {
      return (await pool.run([chunks], signal, undefined, org))[0]!;
    } catch (error) {
      if (error instanceof TaskLimitError) return { entities: [], relations: [] };
      throw error;
    }
  };

  const ofNote = createSharedCalls<Extraction, Graph>({
    keyOf: ({ org = '' }) => org,
    async call(notes) {
      const { org } = notes[0]!;
      if (notes.length > 1) {
        const graphs = await short
          .run(
            notes.map(({ chunks }) => chunks),
            undefined,
            undefined,
            org,
          )
          .catch(() => null);
        if (graphs) return graphs;
      }
      // One of them may be the cause of an error.
      return notes.map((note) => alone(short, note));
    },
  });

  return {
    extract(chunks, signal, org) {
      const characters = chunks.reduce((sum, { text }) => sum + text.length, 0);
      const extraction = { chunks, signal, org };
      return characters <= NOTE ? ofNote(extraction) : alone(characters <= SHORT ? short : long, extraction);
    },
    async close() {
      await Promise.all([short.close(), long.close()]);
    },
  };
}
