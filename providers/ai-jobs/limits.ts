/** Bounds for one job. A job that exceeds one fails with a message that names it; nothing is ever cut silently. */
export interface AiLimits {
  /** Characters of a text that is analysed locally. */
  textCharacters: number;
  /** For one text, without waiting for a process. */
  textTimeoutMs: number;
  textProcesses: number;
  /** Pages of a PDF, frames of a TIFF. */
  ocrPages: number;
  /** Pixels of one decoded picture. */
  imagePixels: number;
  /** Bytes of a recording that is sent to a server (OpenAI's own limit). */
  audioBytes: number;
}

export const DEFAULT_AI_LIMITS: AiLimits = {
  textCharacters: 500_000,
  textTimeoutMs: 60_000,
  textProcesses: 1,
  ocrPages: 500,
  imagePixels: 50_000_000,
  audioBytes: 25 * 1024 * 1024,
};
