import type { Embedder } from '../../domain/content/search.js';
import { createLocalEmbedder } from './local.js';
import { createOpenAiCompatibleEmbedder, type OpenAiCompatibleOptions } from './openai-compatible.js';

export type EmbedderConfig =
  | { kind: 'local'; modelPath: string; tokenizerPath: string; threads?: number | undefined }
  | ({ kind: 'openai' } & OpenAiCompatibleOptions)
  /** Full text only; the reason is for `/readyz` and the log. */
  | { kind: 'none'; reason: string };

/** @returns null where searching is full text only */
export function createEmbedder(config: EmbedderConfig): Embedder | null {
  switch (config.kind) {
    case 'local':
      return createLocalEmbedder(config);
    case 'openai':
      return createOpenAiCompatibleEmbedder(config);
    case 'none':
      return null;
  }
}
