import type { Graph, GraphText } from '../../domain/content/graph.js';
import { ProviderError } from '../../domain/errors.js';
import type { TokenMeter } from '../../domain/quotas.js';
import { createSemaphore } from '../../domain/semaphore.js';
import { completeWhole } from '../openai/chat-completion.js';
import { createOpenAiClient, meteredClient, type OpenAiOptions } from '../openai/client.js';
import type { GraphExtractor } from './index.js';
import { mergeGraphs } from './merge-graphs.js';
import { GRAPH_FORMAT, INSTRUCTIONS, proseOf, readAnswer } from './model-answer.js';

export interface GraphModelOptions extends OpenAiOptions {
  model: string;
  /** Tokens that the answer for one chunk may have. */
  maxTokens?: number | undefined;
  /** For an item of a few chunks, with its wait for other items. A lone note is indexed within 30 seconds. */
  timeoutMs?: number;
}

interface GraphModelDependencies {
  /** Reads what the model does not. */
  builtIn: GraphExtractor;
  /** @returns what counts the tokens of an organisation */
  meterOf(org: string): TokenMeter;
  log: { warn(details: object, message: string): void };
}

/** Requests at a time, of all items together. */
const REQUESTS = 8;
/** Chunks of an item that is indexed in one activity. The graph of a larger item has an activity of its own. */
const FEW_CHUNKS = 16;
const LARGE_ITEM_MS = 5 * 60_000;
/** How long a server is not asked after it failed or was late: else every item would wait for it. */
const REST_MS = 30_000;
const MAX_RESPONSE_BYTES = 1024 * 1024;

/** Extracts graphs by a language model, chunk by chunk. What it does not read in time, or answers badly, the built-in extraction reads. */
export function createModelGraphExtractor(
  options: GraphModelOptions,
  { builtIn, meterOf, log }: GraphModelDependencies,
): GraphExtractor {
  const { model, maxTokens, timeoutMs = 20_000 } = options;
  const client = createOpenAiClient({ ...options, timeoutMs: LARGE_ITEM_MS, maxResponseBytes: MAX_RESPONSE_BYTES });
  const requests = createSemaphore({ places: REQUESTS });
  let restsUntil = 0;

  /** @returns null when the model gives no graph */
  async function read(chunk: GraphText, org: string, limit: AbortSignal): Promise<Graph | null> {
    if (proseOf(chunk).trim() === '') return { entities: [], relations: [] };
    if (limit.aborted || performance.now() < restsUntil) return null;
    const leave = await requests.acquire(limit, org).catch(() => null);
    // Behind other chunks until the time was over.
    if (!leave) return null;
    try {
      if (performance.now() < restsUntil) return null;
      const { text } = await completeWhole(
        meteredClient(client, meterOf(org)),
        {
          model,
          messages: [
            { role: 'system', content: INSTRUCTIONS },
            { role: 'user', content: chunk.text },
          ],
          response_format: GRAPH_FORMAT,
          max_tokens: maxTokens,
        },
        limit,
      );
      return readAnswer(text, chunk);
    } catch (error) {
      if (!(error instanceof ProviderError) && !limit.aborted) throw error;
      const failure = error instanceof ProviderError ? error : new ProviderError('No answer in time.', true);
      log.warn(
        { reason: failure.message },
        'a text has no graph by the language model, and the built-in extraction reads it',
      );
      if (failure.retryable) restsUntil = performance.now() + REST_MS;
      return null;
    } finally {
      leave();
    }
  }

  return {
    async extract(chunks, signal, org = '') {
      const time = AbortSignal.timeout(chunks.length > FEW_CHUNKS ? LARGE_ITEM_MS : timeoutMs);
      const limit = signal ? AbortSignal.any([signal, time]) : time;
      const graphs = await Promise.all(chunks.map((chunk) => read(chunk, org, limit)));
      signal?.throwIfAborted();
      const unread = chunks.filter((_, at) => graphs[at] === null);
      if (unread.length === chunks.length) return builtIn.extract(chunks, signal, org);
      const rest = unread.length > 0 ? [await builtIn.extract(unread, signal, org)] : [];
      return mergeGraphs([...graphs.filter((graph) => graph !== null), ...rest]);
    },
    close: builtIn.close,
  };
}
