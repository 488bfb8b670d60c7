import { fetch } from 'undici';
import { inBatches } from '../../domain/batches.js';
import type { Embedder } from '../../domain/content/search.js';
import { EmbeddingError } from '../../domain/errors.js';
import { isTransient } from '../openai/client.js';
import { readBody } from '../openai/read-body.js';

export interface OpenAiEmbedderOptions {
  /** Base URL without `/embeddings`, e.g. `https://api.openai.com/v1`. */
  baseUrl: string;
  apiKey?: string | undefined;
  model: string;
  /** Dimensions of the vectors, which are requested. Vectors of another size are rejected. */
  dimensions: number;
  timeoutMs?: number;
}

/** Texts and characters of one request, well below the limits of the known servers. */
const BATCH = { count: 64, size: 200_000, sizeOf: ({ length }: string) => length };
/** Vectors of 64 texts with 4,096 dimensions take 6 MB. */
const MAX_RESPONSE_BYTES = 32 * 1024 * 1024;

/** An embedder for any server that implements OpenAI's `POST /embeddings`. Error messages hold neither the key nor texts. */
export function createOpenAiEmbedder(options: OpenAiEmbedderOptions): Embedder {
  const { model, dimensions, apiKey, timeoutMs = 60_000 } = options;
  const url = `${options.baseUrl.replace(/(?<!\/)\/+$/, '')}/embeddings`;
  const closing = new AbortController();

  /** False when the server has rejected a request that names the dimensions, and accepted it without: its model has fixed ones. */
  let namesDimensions = true;

  async function embedBatch(input: readonly string[], signal?: AbortSignal): Promise<Float32Array[]> {
    try {
      return await request(input, namesDimensions ? { dimensions } : {}, signal);
    } catch (error) {
      if (!namesDimensions || !(error instanceof RejectedError)) throw error;
      const vectors = await request(input, {}, signal);
      namesDimensions = false;
      return vectors;
    }
  }

  async function request(
    input: readonly string[],
    options: { dimensions?: number },
    signal?: AbortSignal,
  ): Promise<Float32Array[]> {
    const limit = AbortSignal.any([closing.signal, AbortSignal.timeout(timeoutMs), ...(signal ? [signal] : [])]);
    let body: string;
    try {
      const response = await fetch(url, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...(apiKey ? { authorization: `Bearer ${apiKey}` } : {}) },
        body: JSON.stringify({ model, input, encoding_format: 'float', ...options }),
        signal: limit,
        // A followed redirect would send texts, and perhaps the key, to an address that nobody configured.
        redirect: 'error',
      });
      const read = await readBody(response, MAX_RESPONSE_BYTES);
      if (read === undefined) throw new EmbeddingError('The response of the embedding server is too large.', false);
      body = read;
      if (!response.ok) {
        const message = `The embedding server responded with status ${response.status} for model "${model}".`;
        if (response.status === 400 || response.status === 422) throw new RejectedError(message, false);
        throw new EmbeddingError(message, isTransient(response.status));
      }
    } catch (error) {
      if (error instanceof EmbeddingError) throw error;
      if (signal?.aborted) throw signal.reason;
      if (limit.aborted && !closing.signal.aborted)
        throw new EmbeddingError(`The embedding server did not respond within ${timeoutMs} ms.`, true);
      throw new EmbeddingError(`The embedding server cannot be reached (${causeOf(error)}).`, !closing.signal.aborted);
    }
    return readVectors(body, input.length, dimensions);
  }

  async function embed(texts: readonly string[], signal?: AbortSignal): Promise<Float32Array[]> {
    signal?.throwIfAborted();
    const vectors: Float32Array[] = [];
    for (const batch of inBatches(texts, BATCH)) vectors.push(...(await embedBatch(batch, signal)));
    return vectors;
  }

  return {
    model,
    dimensions,
    embedDocuments: embed,
    async embedQuery(text, signal) {
      const [vector] = await embed([text], signal);
      return vector!;
    },
    async close() {
      closing.abort(new EmbeddingError('The embedder has been closed.', false));
    },
  };
}

/** The server does not accept the request as it is. */
class RejectedError extends EmbeddingError {}

/** @returns the vectors of a response in the order of the texts, normalised to unit length */
function readVectors(body: string, expected: number, dimensions: number): Float32Array[] {
  let data: unknown;
  try {
    data = (JSON.parse(body) as { data?: unknown } | null)?.data;
  } catch {
    throw new EmbeddingError('The response of the embedding server is not JSON.', true);
  }
  if (!Array.isArray(data) || data.length !== expected) {
    throw new EmbeddingError(`The embedding server did not return ${expected} embeddings.`, false);
  }
  const embeddings = new Map(data.map((entry, index) => [Number(entry?.index ?? index), entry?.embedding]));
  return Array.from({ length: expected }, (_, index) => readVector(embeddings.get(index), dimensions));
}

function readVector(embedding: unknown, dimensions: number): Float32Array {
  if (!Array.isArray(embedding)) throw new EmbeddingError('The embedding server returned no vector for a text.', false);
  if (embedding.length !== dimensions) {
    throw new EmbeddingError(
      `The vectors of the embedding model have ${embedding.length} dimensions; ${dimensions} are configured.`,
      false,
    );
  }
  const vector = Float32Array.from(embedding as number[]);
  const norm = Math.hypot(...vector);
  if (!Number.isFinite(norm) || norm === 0)
    throw new EmbeddingError('The embedding server returned an invalid vector.', false);
  return vector.map((value) => value / norm);
}

function causeOf(error: unknown): string {
  const { cause, name } = error as { cause?: { code?: string }; name?: string };
  return cause?.code ?? name ?? 'unknown';
}
