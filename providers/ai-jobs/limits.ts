/** Bounds of one job. What goes over one of them fails with a message that names it, and is never cut silently. */
export interface AiLimits {
  /** Characters of a text that is read here, in a thread. */
  textCharacters: number;
  /** For one text, without its wait for a thread. */
  textTimeoutMs: number;
  textThreads: number;
  /** Pages of a PDF, frames of a TIFF. */
  ocrPages: number;
  /** Pixels of one picture, decoded. */
  imagePixels: number;
  /** Of a recording that is sent to a server; OpenAI's own limit. */
  audioBytes: number;
}

export const DEFAULT_AI_LIMITS: AiLimits = {
  textCharacters: 500_000,
  textTimeoutMs: 60_000,
  textThreads: 1,
  ocrPages: 500,
  imagePixels: 50_000_000,
  audioBytes: 25 * 1024 * 1024,
};
