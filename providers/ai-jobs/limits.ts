export type AiLimits = typeof DEFAULT_AI_LIMITS;

/** Bounds for one job. A job that exceeds one fails with a message that names it; nothing is ever cut silently. */
export const DEFAULT_AI_LIMITS = {
  /** Characters of a text that is analysed locally. */
  textCharacters: 500_000,
  /** For one text, without waiting for a process. */
  textTimeoutMs: 60_000,
  textProcesses: 1,
  /** Pages of a PDF, frames of a TIFF. */
  ocrPages: 500,
  /** Pixels of one decoded picture. */
  imagePixels: 50_000_000,
  /** Bytes of a recording that is sent to a server (OpenAI's own limit). */
  audioBytes: 25 * 1024 * 1024,
};
