/** What the embedder and its thread say to each other. */

export interface WorkerSettings {
  modelPath: string;
  tokenizerPath: string;
  /** Threads of one matrix multiplication; undefined lets the runtime take every core. */
  threads: number | undefined;
  /** Two 32-bit numbers in shared memory, see `RUNNING` and `STOPPING`. */
  state: SharedArrayBuffer;
}

/** Index in the shared state: 1 while native code runs in the thread. */
export const RUNNING = 0;
/** Index in the shared state: 1 when native code must not be entered any more. */
export const STOPPING = 1;

/** A text with the number its answer will carry. */
export interface NumberedText {
  number: number;
  text: string;
}

export interface EmbedRequest {
  texts: NumberedText[];
  /** Questions: taken before any document that waits. */
  urgent: boolean;
}

/** Asks the thread to end by itself: stopped from outside while the model runs, it would take the process with it. */
export type StopRequest = { stop: true };

/** One vector a number, one after the other; or why there is none. */
export type EmbedAnswer = { numbers: number[]; vectors: ArrayBuffer } | { numbers: number[]; failed: string };

export type WorkerMessage = { ready: true } | { broken: string } | EmbedAnswer;

export const LOCAL_MODEL = 'bge-small-en-v1.5';
export const LOCAL_DIMENSIONS = 384;
