import { statSync } from 'node:fs';
import { Worker } from 'node:worker_threads';
import {
  type EmbedRequest,
  type NumberedText,
  RUNNING,
  STOPPING,
  type StopRequest,
  type WorkerMessage,
  type WorkerSettings,
} from './local-protocol.js';

/** The built-in tokenizer's vocabulary and a window of texts take about 40 MB of heap. The model is outside of it. */
const MAX_HEAP_MB = 160;
/** Heap for each megabyte of the tokenizer's file: that of a multilingual model has 17 MB. */
const HEAP_PER_TOKENIZER_MB = 30;
/** Each thread may fill two semi-spaces before it collects garbage. */
const MAX_YOUNG_GENERATION_MB = 12;
/** Far more than loading the model or running a batch takes. */
const LONGEST_RUN_MS = 5_000;

export interface ModelThreadEvents {
  onReady(): void;
  /** With one vector per number, concatenated, or the reason for the failure. */
  onResult(numbers: readonly number[], result: { vectors: ArrayBuffer } | { failed: string }): void;
  /** Called once, when the thread accepts no more texts. */
  onEnd(reason: string): void;
}

export interface ModelThread {
  send(texts: NumberedText[], urgent: boolean): void;
  /** A busy thread keeps the process alive, an idle one does not. */
  setBusy(busy: boolean): void;
  stop(): Promise<void>;
}

/** Starts a thread with its own copy of the model. */
export function startModelThread(settings: Omit<WorkerSettings, 'state'>, events: ModelThreadEvents): ModelThread {
  const state = new Int32Array(new SharedArrayBuffer(8));
  const heapMb = MAX_HEAP_MB + HEAP_PER_TOKENIZER_MB * megabytesOf(settings.tokenizerPath);
  // Onnxruntime reports its use to its maker unless this is set in the process before the library is loaded. The
  // environment of a thread is a copy, which native code does not see.
  process.env.ORT_DISABLE_TELEMETRY = '1';
  const worker = new Worker(new URL('./local-worker.js', import.meta.url), {
    workerData: { ...settings, state: state.buffer } satisfies WorkerSettings,
    // The flags of the process are not passed on, because some of them do not allow a file as entry point.
    execArgv: [],
    resourceLimits: { maxOldGenerationSizeMb: heapMb, maxYoungGenerationSizeMb: MAX_YOUNG_GENERATION_MB },
  });
  let ended = false;

  worker.on('message', (message: WorkerMessage) => {
    if (ended) return;
    if ('ready' in message) events.onReady();
    else if ('broken' in message) end(`The embedding model cannot be loaded: ${message.broken}`);
    else events.onResult(message.numbers, message);
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
    worker.postMessage({ stop: true } satisfies StopRequest);
    events.onEnd(reason);
  }

  return {
    send: (texts, urgent) => worker.postMessage({ texts, urgent } satisfies EmbedRequest),
    setBusy(busy) {
      if (busy) worker.ref();
      else worker.unref();
    },
    async stop() {
      end('The embedding model has been closed.');
      // An idle thread does not keep the process alive, but its end is awaited here.
      worker.ref();
      await exited;
    },
  };
}

/** @returns 0 for a missing file, which the thread reports. */
function megabytesOf(path: string): number {
  return Math.floor((statSync(path, { throwIfNoEntry: false })?.size ?? 0) / 2 ** 20);
}
