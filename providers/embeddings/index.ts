import type { Embedder } from '../../domain/content/search.js';
import { createLocalEmbedder, type LocalEmbedderOptions } from './local.js';
import { createOpenAiEmbedder, type OpenAiEmbedderOptions } from './openai.js';
import { createSocketEmbedder, type SocketEmbedderOptions } from './socket.js';

export type EmbedderConfig =
  | ({ kind: 'local' } & LocalEmbedderOptions)
  | ({ kind: 'socket' } & SocketEmbedderOptions)
  | ({ kind: 'openai' } & OpenAiEmbedderOptions)
  /** Full-text search only. The reason is shown in `/readyz` and the log. */
  | { kind: 'none'; reason: string };

/** @returns null when search is full text only */
export function createEmbedder(config: EmbedderConfig): Embedder | null {
  switch (config.kind) {
    case 'local':
      return createLocalEmbedder(config);
    case 'socket':
      return createSocketEmbedder(config);
    case 'openai':
      return createOpenAiEmbedder(config);
    case 'none':
      return null;
  }
}
