import type { Embedder } from '../../domain/content/search.js';
import { EmbeddingError } from '../../domain/errors.js';

export interface OpenAiCompatibleOptions {
  /** Up to and without `/embeddings`, e.g. `https://api.openai.com/v1`. */
  baseUrl: string;
  apiKey?: string | undefined;
  model: string;
  /** What the model gives; an answer of another size is refused. */
  dimensions: number;
  timeoutMs?: number;
  fetch?: typeof fetch;
}

/** Texts and characters of one request: well under the limits of the known servers. */
const BATCH_TEXTS = 64;
const BATCH_CHARACTERS = 200_000;
/** Statuses after which the same request may succeed. */
const PASSING = new Set([408, 409, 425, 429]);

/** Any server that speaks `POST /embeddings` as OpenAI's does. Error messages carry neither key nor text. */
export function createOpenAiCompatibleEmbedder(options: OpenAiCompatibleOptions): Embedder {
  const { model, dimensions, apiKey, timeoutMs = 60_000 } = options;
  const send = options.fetch ?? fetch;
  const url = `${options.baseUrl.replace(/\/+$/, '')}/embeddings`;
  const closing = new AbortController();

  async function embedBatch(input: readonly string[], signal?: AbortSignal): Promise<Float32Array[]> {
    const limit = AbortSignal.any([closing.signal, AbortSignal.timeout(timeoutMs), ...(signal ? [signal] : [])]);
    let body: string;
    try {
      const response = await send(url, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...(apiKey ? { authorization: `Bearer ${apiKey}` } : {}) },
        body: JSON.stringify({ model, input, encoding_format: 'float' }),
        signal: limit,
        // A redirected request would carry texts, and perhaps the key, to an address nobody configured.
        redirect: 'error',
      });
      body = await response.text();
      if (!response.ok) {
        const passing = response.status >= 500 || PASSING.has(response.status);
        throw new EmbeddingError(`The embedding server answered ${response.status} for model "${model}".`, passing);
      }
    } catch (error) {
      if (error instanceof EmbeddingError) throw error;
      if (signal?.aborted) throw signal.reason;
      if (limit.aborted && !closing.signal.aborted)
        throw new EmbeddingError(`The embedding server did not answer within ${timeoutMs} ms.`, true);
      throw new EmbeddingError(`The embedding server cannot be reached (${causeOf(error)}).`, !closing.signal.aborted);
    }
    return readVectors(body, input.length, dimensions);
  }

  async function embed(texts: readonly string[], signal?: AbortSignal): Promise<Float32Array[]> {
    signal?.throwIfAborted();
    const vectors: Float32Array[] = [];
    for (const batch of batches(texts)) vectors.push(...(await embedBatch(batch, signal)));
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

function* batches(texts: readonly string[]): Generator<string[]> {
  let batch: string[] = [];
  let characters = 0;
  for (const text of texts) {
    if (batch.length > 0 && (batch.length === BATCH_TEXTS || characters + text.length > BATCH_CHARACTERS)) {
      yield batch;
      batch = [];
      characters = 0;
    }
    batch.push(text);
    characters += text.length;
  }
  if (batch.length > 0) yield batch;
}

/** @returns the answer's vectors in the order of the texts, at unit length */
function readVectors(body: string, expected: number, dimensions: number): Float32Array[] {
  let data: unknown;
  try {
    data = (JSON.parse(body) as { data?: unknown } | null)?.data;
  } catch {
    throw new EmbeddingError('The embedding server answered something that is not JSON.', true);
  }
  if (!Array.isArray(data) || data.length !== expected) {
    throw new EmbeddingError(`The embedding server did not answer with ${expected} embeddings.`, false);
  }
  const vectors: Float32Array[] = new Array(expected);
  for (const [at, entry] of data.entries()) vectors[entry?.index ?? at] = readVector(entry?.embedding, dimensions);
  for (let at = 0; at < expected; at += 1) {
    if (!vectors[at]) throw new EmbeddingError('The embedding server left out a text.', false);
  }
  return vectors;
}

function readVector(embedding: unknown, dimensions: number): Float32Array {
  if (!Array.isArray(embedding)) throw new EmbeddingError('The embedding server answered no vector for a text.', false);
  if (embedding.length !== dimensions) {
    throw new EmbeddingError(
      `The embedding model gives ${embedding.length} dimensions; ${dimensions} are configured.`,
      false,
    );
  }
  const vector = Float32Array.from(embedding as number[]);
  const norm = Math.hypot(...vector);
  if (!Number.isFinite(norm) || norm === 0)
    throw new EmbeddingError('The embedding server answered a vector that is none.', false);
  return vector.map((value) => value / norm);
}

function causeOf(error: unknown): string {
  const { cause, name } = error as { cause?: { code?: string }; name?: string };
  return cause?.code ?? name ?? 'unknown';
}
