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
} from './local-protocol.js';

export interface LocalEmbedderOptions {
  modelPath: string;
  tokenizerPath: string;
  threads?: number | undefined;
}

export interface LocalEmbedder extends Embedder {
  /** Loads the model before the first text. */
  warm(): Promise<void>;
}

/** Instruction for queries; documents have none (model card of bge-small-en-v1.5). */
const QUERY_PREFIX = 'Represent this sentence for searching relevant passages: ';
/** Documents that are in the thread at a time: enough to batch texts of similar length. */
const WINDOW = 16;
/** Their characters: about four of the longest texts, and a wait of half a second for the next. */
const WINDOW_CHARACTERS = 8 * 1024;
/** The model reads the beginning of a longer text only. */
const LONGEST_TEXT = 2 * 1024;
/** The tokenizer's vocabulary and a window of texts take about 40 MB of heap. The model is outside of it. */
const MAX_HEAP_MB = 160;
/** Far more than loading the model or running a batch takes. */
const LONGEST_RUN_MS = 5_000;

interface QueuedText {
  number: number;
  text: string;
  urgent: boolean;
  /** Texts with lower turns are embedded first. */
  turn: number;
  resolve(vector: Float32Array): void;
  reject(error: unknown): void;
}

/**
 * bge-small-en-v1.5 in a thread of this process, started and loaded at first use. Calls share batches; queries are embedded
 * before documents. If the thread dies, running calls are rejected (retryable), and the next call starts a new thread.
 */
export function createLocalEmbedder(options: LocalEmbedderOptions): LocalEmbedder {
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

/** @param onEnd called once, when the thread accepts no more texts */
function startThread(settings: Omit<WorkerSettings, 'state'>, onEnd: (ended: Thread) => void) {
  const state = new Int32Array(new SharedArrayBuffer(8));
  const worker = new Worker(new URL('./local-worker.js', import.meta.url), {
    workerData: { ...settings, state: state.buffer } satisfies WorkerSettings,
    // The flags of the process are not passed on, because some of them do not allow a file as entry point.
    execArgv: [],
    resourceLimits: { maxOldGenerationSizeMb: MAX_HEAP_MB },
  });
  const waiting: QueuedText[] = [];
  const inFlight = new Map<number, QueuedText>();
  let documentsInFlight = 0;
  let lastTurn = 0;
  let ended = false;
  let lastNumber = 0;
  let settleReady!: { resolve(): void; reject(error: Error): void };
  const ready = new Promise<void>((resolve, reject) => {
    settleReady = { resolve, reject };
  });
  ready.catch(() => undefined);

  worker.on('message', (message: WorkerMessage) => {
    // The texts of a thread that is ending have been rejected already.
    if (ended) return;
    if ('ready' in message) settleReady.resolve();
    else if ('broken' in message) end(`The embedding model cannot be loaded: ${message.broken}`);
    else {
      for (const [index, number] of message.numbers.entries()) {
        const text = inFlight.get(number);
        if (!text) continue;
        inFlight.delete(number);
        if (!text.urgent) documentsInFlight -= 1;
        if ('failed' in message) text.reject(new EmbeddingError(`The embedding model failed: ${message.failed}`, true));
        // Copied, so that one vector in use does not keep its whole batch in memory.
        else text.resolve(new Float32Array(message.vectors, index * LOCAL_DIMENSIONS * 4, LOCAL_DIMENSIONS).slice());
      }
      send();
    }
  });
  worker.on('error', (error) => end(`The embedding thread failed: ${error.message}`));
  const exited = new Promise<void>((resolve) => {
    worker.on('exit', () => {
      end('The embedding thread ended.');
      process.off('exit', waitForBatch);
      resolve();
    });
  });

  /** Waits for the running batch: a process that exits while the model runs would crash. */
  function waitForBatch(): void {
    Atomics.store(state, STOPPING, 1);
    Atomics.wait(state, RUNNING, 1, LONGEST_RUN_MS);
  }
  process.on('exit', waitForBatch);

  function end(reason: string): void {
    if (ended) return;
    ended = true;
    const error = new EmbeddingError(reason, true);
    settleReady.reject(error);
    for (const text of [...inFlight.values(), ...waiting]) text.reject(error);
    inFlight.clear();
    waiting.length = 0;
    onEnd(self);
    worker.postMessage({ stop: true } satisfies StopRequest);
  }

  function send(): void {
    const urgent = waiting.filter((text) => text.urgent);
    const rest = waiting.filter((text) => !text.urgent);
    const documents = documentsInFlight === 0 ? takeWindow(rest.sort((a, b) => a.turn - b.turn)) : [];
    lastTurn = documents.at(-1)?.turn ?? lastTurn;
    waiting.splice(0, waiting.length, ...rest);
    documentsInFlight += documents.length;
    for (const queued of [urgent, documents]) {
      if (queued.length === 0) continue;
      for (const text of queued) inFlight.set(text.number, text);
      const texts = queued.map(({ number, text }) => ({ number, text }));
      worker.postMessage({ texts, urgent: queued === urgent } satisfies EmbedRequest);
    }
    // A working embedder keeps the process alive, an idle one does not.
    if (inFlight.size === 0) worker.unref();
    else worker.ref();
  }

  const self = {
    ready,
    embed(texts: readonly string[], urgent: boolean, signal?: AbortSignal): Promise<Float32Array[]> {
      signal?.throwIfAborted();
      const numbers = new Set<number>();
      const all = Promise.all(
        texts.map(
          (text, index) =>
            new Promise<Float32Array>((resolve, reject) => {
              lastNumber += 1;
              numbers.add(lastNumber);
              // Calls take turns text by text, so that a call with one text does not wait for all texts of the others.
              waiting.push({ number: lastNumber, text, urgent, turn: lastTurn + index, resolve, reject });
            }),
        ),
      );
      send();
      if (!signal) return all;
      const abandon = () => {
        for (const text of [...waiting, ...inFlight.values()]) if (numbers.has(text.number)) text.reject(signal.reason);
        waiting.splice(0, waiting.length, ...waiting.filter(({ number }) => !numbers.has(number)));
      };
      signal.addEventListener('abort', abandon, { once: true });
      return all.finally(() => signal.removeEventListener('abort', abandon));
    },
    async stop(): Promise<void> {
      end('The embedding model has been closed.');
      // An idle thread does not keep the process alive, but its end is awaited here.
      worker.ref();
      await exited;
    },
  };
  return self;
}

/** Removes the first texts, at least one. */
function takeWindow(texts: QueuedText[]): QueuedText[] {
  let count = 0;
  let characters = 0;
  for (const { text } of texts.slice(0, WINDOW)) {
    characters += Math.min(text.length, LONGEST_TEXT);
    if (count > 0 && characters > WINDOW_CHARACTERS) break;
    count += 1;
  }
  return texts.splice(0, count);
}
