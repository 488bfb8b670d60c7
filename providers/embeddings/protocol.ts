/** What the embedder and its thread say to each other. */

export interface WorkerSettings {
  modelPath: string;
  tokenizerPath: string;
  /** Threads of one matrix multiplication; undefined lets the runtime take every core. */
  threads: number | undefined;
}

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

/** One vector a number, one after the other; or why there is none. */
export type EmbedAnswer = { numbers: number[]; vectors: ArrayBuffer } | { numbers: number[]; failed: string };

export type WorkerMessage = { ready: true } | { broken: string } | EmbedAnswer;

export const LOCAL_MODEL = 'bge-small-en-v1.5';
export const LOCAL_DIMENSIONS = 384;
