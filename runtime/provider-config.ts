import { join, resolve } from 'node:path';
import type { LanguageModels } from '../domain/crews/language-model.js';
import { parseS3Uri, type S3Location } from '../domain/s3-location.js';
import type { OpenAiConfig } from '../providers/ai-jobs/index.js';
import type { EmbedderConfig } from '../providers/embeddings/index.js';
import type { LocalEmbedderOptions } from '../providers/embeddings/local.js';
import { MODEL_FILES, readLocalModel } from '../providers/embeddings/local-model.js';
import type { GraphModelOptions } from '../providers/graph/model-extractor.js';
import { createLanguageModels } from '../providers/language-models/index.js';
import type { RerankerOptions } from '../providers/reranking/index.js';
import type { Config } from './config.js';

/** The folder of the search index, or its location in a bucket. @throws Error when the bucket has no conditional writes */
export async function indexLocation(config: Config): Promise<string | S3Location> {
  const uri = config.POSTBACK_INDEX_URI;
  if (uri === undefined) return join(config.POSTBACK_DATA_DIR, 'index');
  const location = s3Location(config, uri);
  if (!location) return resolve(uri);
  // Imported on demand: AWS's client takes time and memory to load.
  const { requireConditionalWrites } = await import('../storage/s3-bucket.js');
  await requireConditionalWrites(location);
  return location;
}

/** The search index in OpenSearch; undefined without its URL. */
export async function connectOpenSearch(config: Config) {
  const { POSTBACK_SEARCH_URL: url, POSTBACK_SEARCH_PREFIX: prefix } = config;
  if (url === undefined) return undefined;
  // Imported on demand: most installations have no OpenSearch.
  const { createOpenSearchIndex } = await import('../storage/content/search-index/opensearch/index.js');
  return createOpenSearchIndex({ url, prefix });
}

/** The bucket of uploaded and ingested files; undefined when they are in GridFS. */
export function filesLocation(config: Config): S3Location | undefined {
  return config.POSTBACK_FILES_URI === undefined ? undefined : s3Location(config, config.POSTBACK_FILES_URI);
}

function s3Location(config: Config, uri: string): S3Location | undefined {
  const location = parseS3Uri(uri);
  return location ? { ...location, endpoint: config.AWS_ENDPOINT_URL, region: config.AWS_REGION } : undefined;
}

/** The embedding model of new databases: none, an OpenAI-compatible endpoint, the embedding process, or the local model. */
export function embedderConfig(config: Config): EmbedderConfig {
  if (config.POSTBACK_EMBEDDINGS === 'off') {
    return { kind: 'none', reason: config.POSTBACK_EMBEDDINGS_OFF_REASON ?? 'POSTBACK_EMBEDDINGS is off' };
  }
  if (config.POSTBACK_EMBEDDINGS_URL) {
    return {
      kind: 'openai',
      baseUrl: config.POSTBACK_EMBEDDINGS_URL,
      apiKey: config.POSTBACK_EMBEDDINGS_KEY,
      model: config.POSTBACK_EMBEDDINGS_MODEL,
      dimensions: config.POSTBACK_EMBEDDINGS_DIMENSIONS,
    };
  }
  const local = localEmbedder(config);
  if (local) return local;
  const reason = 'no embedding model is configured: set POSTBACK_EMBEDDING_MODEL_DIR or POSTBACK_EMBEDDINGS_URL';
  return { kind: 'none', reason };
}

/** Models that databases may have from before a change of the model: queries use them until a rebuild has switched. */
export function previousEmbedders(config: Config): EmbedderConfig[] {
  if (config.POSTBACK_EMBEDDINGS === 'off') return [];
  const url = config.POSTBACK_PREVIOUS_EMBEDDINGS_URL;
  const local = config.POSTBACK_EMBEDDINGS_URL ? localEmbedder(config) : undefined;
  const endpoint: EmbedderConfig[] =
    url === undefined || url === 'local'
      ? []
      : [
          {
            kind: 'openai',
            baseUrl: url,
            apiKey: config.POSTBACK_PREVIOUS_EMBEDDINGS_KEY,
            model: config.POSTBACK_PREVIOUS_EMBEDDINGS_MODEL,
            dimensions: config.POSTBACK_PREVIOUS_EMBEDDINGS_DIMENSIONS,
          },
        ];
  return [...endpoint, ...(local ? [local] : [])];
}

/** The local model, in the embedding process or in this one. */
function localEmbedder(config: Config): EmbedderConfig | undefined {
  const local = localModel(config);
  const { POSTBACK_EMBEDDER_SOCKET: socketPath, POSTBACK_EMBEDDER_URL: url } = config;
  const address = url ? { url } : socketPath ? { socketPath } : undefined;
  if (address) return { kind: 'socket', address, model: local?.model };
  return local && { kind: 'local', ...local };
}

/**
 * The files and threads of the local model; undefined without POSTBACK_EMBEDDING_MODEL_DIR.
 * @throws Error when its `model.json` is invalid
 */
export function localModel(config: Config): LocalEmbedderOptions | undefined {
  const folder = config.POSTBACK_EMBEDDING_MODEL_DIR;
  if (!folder) return undefined;
  return {
    model: readLocalModel(folder),
    modelPath: join(folder, MODEL_FILES.model),
    tokenizerPath: join(folder, MODEL_FILES.tokenizer),
    threads: config.POSTBACK_EMBEDDING_THREADS,
  };
}

/**
 * The server of the AI job provider `openai`, with a default model per subfeature; undefined without
 * POSTBACK_OPENAI_URL.
 */
export function openAiConfig(config: Config): OpenAiConfig | undefined {
  if (config.POSTBACK_OPENAI_URL === undefined) return undefined;
  const chat = config.POSTBACK_OPENAI_CHAT_MODEL;
  return {
    baseUrl: config.POSTBACK_OPENAI_URL,
    apiKey: config.POSTBACK_OPENAI_KEY,
    allowedModels: config.POSTBACK_OPENAI_MODELS,
    maxTokens: config.POSTBACK_OPENAI_MAX_TOKENS || undefined,
    models: {
      'text/chat': chat,
      'text/summarize': chat,
      'translation/automatic_translation': chat,
      'image/captioning': config.POSTBACK_OPENAI_VISION_MODEL,
      'audio/speech_to_text_async': config.POSTBACK_OPENAI_SPEECH_MODEL,
    },
  };
}

/** The language model that reads graphs; undefined without POSTBACK_GRAPH_MODEL. @throws Error when its server is missing */
export function graphModelConfig(config: Config): GraphModelOptions | undefined {
  const { POSTBACK_OPENAI_URL: baseUrl, POSTBACK_OPENAI_KEY: apiKey, POSTBACK_GRAPH_MODEL: model } = config;
  if (model === undefined) return undefined;
  if (baseUrl === undefined) throw new Error('POSTBACK_OPENAI_URL: required with POSTBACK_GRAPH_MODEL');
  return { baseUrl, apiKey, model, maxTokens: config.POSTBACK_OPENAI_MAX_TOKENS || undefined };
}

/** The second ranking of queries; undefined without POSTBACK_RERANK_URL. @throws Error when the model is missing */
export function rerankerConfig(config: Config): RerankerOptions | undefined {
  const { POSTBACK_RERANK_URL: baseUrl, POSTBACK_RERANK_KEY: apiKey, POSTBACK_RERANK_MODEL: model } = config;
  if (baseUrl === undefined) return undefined;
  if (model === undefined) throw new Error('POSTBACK_RERANK_MODEL: required with POSTBACK_RERANK_URL');
  return { baseUrl, apiKey, model, timeoutMs: config.POSTBACK_RERANK_TIMEOUT_MS };
}

/** The language models of crews' agents. */
export function configuredLanguageModels(config: Config): LanguageModels {
  const { POSTBACK_OPENAI_URL: baseUrl, POSTBACK_OPENAI_KEY: apiKey, POSTBACK_OPENAI_CHAT_MODEL: model } = config;
  return createLanguageModels({ openai: baseUrl === undefined ? undefined : { baseUrl, apiKey, model } });
}
