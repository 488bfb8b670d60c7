import { Worker } from 'node:worker_threads';
import type { Embedder } from '../../domain/content/search.js';
import { EmbeddingError } from '../../domain/errors.js';
import {
  type EmbedRequest,
  LOCAL_DIMENSIONS,
  LOCAL_MODEL,
  RUNNING,
  STOPPING,
  type StopRequest,
  type WorkerMessage,
  type WorkerSettings,
} from './protocol.js';

export interface LocalEmbedder extends Embedder {
  /** Loads the model before the first text needs it. */
  warm(): Promise<void>;
}

/** bge's instruction for questions; documents go without one (model card of bge-small-en-v1.5). */
const QUERY_PREFIX = 'Represent this sentence for searching relevant passages: ';
/** Documents handed to the thread at a time, from however many callers: enough to find some of like length. */
const WINDOW = 32;
/** The tokenizer's vocabulary and a window of texts take about 40 MB of a heap; the model is outside of it. */
const MAX_HEAP_MB = 160;
/** Far more than loading the model or a batch takes. */
const LONGEST_RUN_MS = 5_000;

interface Piece {
  number: number;
  text: string;
  urgent: boolean;
  resolve(vector: Float32Array): void;
  reject(error: unknown): void;
}

/**
 * bge-small-en-v1.5 in a thread of this process, started and loaded at first use. Calls share batches; questions
 * overtake documents. If the thread dies, what was under way is rejected (retryable), and the next call starts another.
 */
export function createLocalEmbedder(options: {
  modelPath: string;
  tokenizerPath: string;
  threads?: number | undefined;
}): LocalEmbedder {
  const settings = { ...options, threads: options.threads };
  let thread: Thread | undefined;
  let closed = false;

  function running(): Thread {
    if (closed) throw new EmbeddingError('The embedding model has been closed.', false);
    thread ??= startThread(settings, (ended) => {
      if (thread === ended) thread = undefined;
    });
    return thread;
  }

  return {
    model: LOCAL_MODEL,
    dimensions: LOCAL_DIMENSIONS,
    async embedDocuments(texts, signal) {
      return running().embed(texts, false, signal);
    },
    async embedQuery(text, signal) {
      const [vector] = await running().embed([QUERY_PREFIX + text], true, signal);
      return vector!;
    },
    async warm() {
      await running().ready;
    },
    async close() {
      closed = true;
      await thread?.stop();
    },
  };
}

type Thread = ReturnType<typeof startThread>;

/** @param onEnd called once, when the thread can take no more texts */
function startThread(settings: Omit<WorkerSettings, 'state'>, onEnd: (ended: Thread) => void) {
  const state = new Int32Array(new SharedArrayBuffer(8));
  const worker = new Worker(new URL('./local-worker.js', import.meta.url), {
    workerData: { ...settings, state: state.buffer } satisfies WorkerSettings,
    // The process's own flags are not the thread's: some of them forbid a file as its start.
    execArgv: [],
    resourceLimits: { maxOldGenerationSizeMb: MAX_HEAP_MB },
  });
  const waiting: Piece[] = [];
  const underWay = new Map<number, Piece>();
  let documentsUnderWay = 0;
  let ended = false;
  let lastNumber = 0;
  let settleReady!: { resolve(): void; reject(error: Error): void };
  const ready = new Promise<void>((resolve, reject) => {
    settleReady = { resolve, reject };
  });
  ready.catch(() => undefined);

  worker.on('message', (message: WorkerMessage) => {
    // What still comes from a thread that is ending has been rejected already.
    if (ended) return;
    if ('ready' in message) settleReady.resolve();
    else if ('broken' in message) end(`The embedding model cannot be loaded: ${message.broken}`);
    else {
      for (const [at, number] of message.numbers.entries()) {
        const piece = underWay.get(number);
        if (!piece) continue;
        underWay.delete(number);
        if (!piece.urgent) documentsUnderWay -= 1;
        if ('failed' in message)
          piece.reject(new EmbeddingError(`The embedding model failed: ${message.failed}`, true));
        // Copied out, so that one vector that is kept does not keep its whole batch.
        else piece.resolve(new Float32Array(message.vectors, at * LOCAL_DIMENSIONS * 4, LOCAL_DIMENSIONS).slice());
      }
      send();
    }
  });
  worker.on('error', (error) => end(`The embedding thread failed: ${error.message}`));
  const exited = new Promise<void>((resolve) => {
    worker.on('exit', () => {
      end('The embedding thread ended.');
      process.off('exit', letFinish);
      resolve();
    });
  });

  /** A process that exits while the model runs would be aborted by it, so the batch under way is waited for. */
  function letFinish(): void {
    Atomics.store(state, STOPPING, 1);
    Atomics.wait(state, RUNNING, 1, LONGEST_RUN_MS);
  }
  process.on('exit', letFinish);

  function end(reason: string): void {
    if (ended) return;
    ended = true;
    const error = new EmbeddingError(reason, true);
    settleReady.reject(error);
    for (const piece of [...underWay.values(), ...waiting]) piece.reject(error);
    underWay.clear();
    waiting.length = 0;
    onEnd(self);
    worker.postMessage({ stop: true } satisfies StopRequest);
  }

  function send(): void {
    const urgent = waiting.filter((piece) => piece.urgent);
    const rest = waiting.filter((piece) => !piece.urgent);
    const documents = documentsUnderWay === 0 ? rest.splice(0, WINDOW) : [];
    waiting.splice(0, waiting.length, ...rest);
    documentsUnderWay += documents.length;
    for (const pieces of [urgent, documents]) {
      if (pieces.length === 0) continue;
      for (const piece of pieces) underWay.set(piece.number, piece);
      const texts = pieces.map(({ number, text }) => ({ number, text }));
      worker.postMessage({ texts, urgent: pieces === urgent } satisfies EmbedRequest);
    }
    // An idle embedder must not keep the process alive, a working one must.
    if (underWay.size === 0) worker.unref();
    else worker.ref();
  }

  const self = {
    ready,
    embed(texts: readonly string[], urgent: boolean, signal?: AbortSignal): Promise<Float32Array[]> {
      signal?.throwIfAborted();
      const numbers = new Set<number>();
      const all = Promise.all(
        texts.map(
          (text) =>
            new Promise<Float32Array>((resolve, reject) => {
              lastNumber += 1;
              numbers.add(lastNumber);
              waiting.push({ number: lastNumber, text, urgent, resolve, reject });
            }),
        ),
      );
      send();
      if (!signal) return all;
      const abandon = () => {
        for (const piece of [...waiting, ...underWay.values()])
          if (numbers.has(piece.number)) piece.reject(signal.reason);
        waiting.splice(0, waiting.length, ...waiting.filter(({ number }) => !numbers.has(number)));
      };
      signal.addEventListener('abort', abandon, { once: true });
      return all.finally(() => signal.removeEventListener('abort', abandon));
    },
    async stop(): Promise<void> {
      end('The embedding model has been closed.');
      // An idle thread is not waited for by the process; this one is.
      worker.ref();
      await exited;
    },
  };
  return self;
}
