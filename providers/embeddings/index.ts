import type { Embedder } from '../../domain/content/search.js';
import { createLocalEmbedder } from './local.js';
import { createOpenAiEmbedder, type OpenAiEmbedderOptions } from './openai.js';

export type EmbedderConfig =
  | { kind: 'local'; modelPath: string; tokenizerPath: string; threads?: number | undefined }
  | ({ kind: 'openai' } & OpenAiEmbedderOptions)
  /** Full-text search only. The reason is shown in `/readyz` and the log. */
  | { kind: 'none'; reason: string };

/** @returns null when search is full text only */
export function createEmbedder(config: EmbedderConfig): Embedder | null {
  switch (config.kind) {
    case 'local':
      return createLocalEmbedder(config);
    case 'openai':
      return createOpenAiEmbedder(config);
    case 'none':
      return null;
  }
}
