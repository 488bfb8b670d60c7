/** Messages between the local embedder and its thread. */

import type { LocalModel } from './local-model.js';

export interface WorkerSettings {
  model: LocalModel;
  modelPath: string;
  tokenizerPath: string;
  /** Two 32-bit numbers in shared memory, see `RUNNING` and `STOPPING`. */
  state: SharedArrayBuffer;
}

/** Index in the shared state: 1 while native code runs in the thread. */
export const RUNNING = 0;
/** Index in the shared state: 1 when native code must not be entered any more. */
export const STOPPING = 1;

/** A text with a number that identifies its vector in the response. */
export interface NumberedText {
  number: number;
  text: string;
}

export interface EmbedRequest {
  texts: NumberedText[];
  /** Queries, which are embedded before waiting documents. */
  urgent: boolean;
}

/** Lets the thread end by itself. If it were terminated while the model runs, the process would crash. */
export type StopRequest = { stop: true };

/** One vector per number, concatenated; or the reason for the failure. */
export type EmbedResponse = { numbers: number[]; vectors: ArrayBuffer } | { numbers: number[]; failed: string };

export type WorkerMessage = { ready: true } | { broken: string } | EmbedResponse;
