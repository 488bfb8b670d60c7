import { z } from 'zod';
import type { Reranker } from '../../domain/content/reranking.js';
import { ProviderError } from '../../domain/errors.js';
import type { TokenMeter } from '../../domain/quotas.js';
import { createOpenAiClient, meteredClient } from '../openai/client.js';

export interface RerankerOptions {
  /** Base URL without `/rerank`, e.g. `https://api.jina.ai/v1`. Set by the operator, so it may be private. */
  baseUrl: string;
  apiKey?: string | undefined;
  model: string;
  /** After it, the first ranking stands. */
  timeoutMs: number;
}

interface RerankerDependencies {
  /** @returns what counts the tokens of an organisation */
  meterOf(org: string): TokenMeter;
  log: { warn(details: object, message: string): void };
}

/** Servers may return the texts with their scores. */
const MAX_RESPONSE_BYTES = 2 * 1024 * 1024;

const response = z.object({
  results: z.array(z.object({ index: z.int().nonnegative(), relevance_score: z.number() })),
});

/** Ranks texts by the request that Jina, Cohere and vLLM have in common: `POST /rerank`. */
export function createReranker(options: RerankerOptions, { meterOf, log }: RerankerDependencies): Reranker {
  const { model, timeoutMs } = options;
  const client = createOpenAiClient({ ...options, maxResponseBytes: MAX_RESPONSE_BYTES });
  /** Whether the last call failed: only the first of a row of failures is logged. */
  let failing = false;

  return {
    async rank(query, texts, org) {
      const limit = AbortSignal.timeout(timeoutMs);
      const body = { model, query, documents: texts, top_n: texts.length };
      try {
        const original = await meteredClient(client, meterOf(org)).post('/rerank', body, limit);
        const order = readOrder(original, texts.length);
        failing = false;
        return order;
      } catch (error) {
        const reason = error instanceof ProviderError ? error.message : `no response within ${timeoutMs} ms`;
        if (!(error instanceof ProviderError) && !limit.aborted) throw error;
        if (!failing) log.warn({ reason }, 'the second ranking of queries fails, and the first ranking stands');
        failing = true;
        return null;
      }
    },
  };
}

/** @returns the positions by their scores; equal scores keep their order @throws ProviderError unless each text has one score */
function readOrder(original: unknown, count: number): number[] {
  const results = response.safeParse(original).data?.results ?? [];
  const places = new Set(results.map(({ index }) => index));
  if (results.length !== count || places.size !== count || Math.max(...places) >= count)
    throw new ProviderError('The response of the server is not a ranking of the texts.', false);
  return results.sort((a, b) => b.relevance_score - a.relevance_score || a.index - b.index).map(({ index }) => index);
}
