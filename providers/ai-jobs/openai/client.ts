import { ProviderError } from '../../../domain/errors.js';
import { failureOf } from './failure.js';

export interface OpenAiOptions {
  /** Up to and without `/chat/completions`, e.g. `https://api.openai.com/v1`. Chosen by the operator, so it may be private. */
  baseUrl: string;
  apiKey?: string | undefined;
  /** For one exchange; `fetch` itself waits no longer than five minutes. */
  timeoutMs?: number;
  /** Bytes of an answer. */
  maxResponseBytes?: number;
}

export interface OpenAiClient {
  /**
   * Posts and reads a JSON answer.
   * @param path below the base address
   * @param body an object is sent as JSON, a form as multipart
   * @throws ProviderError without key, address or content; the signal's reason when it was aborted
   */
  post(path: string, body: Record<string, unknown> | FormData, signal: AbortSignal): Promise<unknown>;
}

const MiB = 1024 * 1024;

/** Any server that speaks OpenAI's HTTP protocol. */
export function createOpenAiClient(options: OpenAiOptions): OpenAiClient {
  const { baseUrl, apiKey, timeoutMs = 280_000, maxResponseBytes = 8 * MiB } = options;
  const base = baseUrl.replace(/\/+$/, '');

  async function post(path: string, body: Record<string, unknown> | FormData, signal: AbortSignal): Promise<unknown> {
    signal.throwIfAborted();
    const timeout = AbortSignal.timeout(timeoutMs);
    const form = body instanceof FormData;
    try {
      const response = await fetch(`${base}${path}`, {
        method: 'POST',
        headers: {
          accept: 'application/json',
          // The boundary of a form is known to `fetch` alone.
          ...(form ? {} : { 'content-type': 'application/json' }),
          ...(apiKey ? { authorization: `Bearer ${apiKey}` } : {}),
        },
        body: form ? body : JSON.stringify(body),
        signal: AbortSignal.any([signal, timeout]),
        // A redirected request would carry texts, and perhaps the key, to an address nobody configured.
        redirect: 'error',
      });
      if (!response.ok) {
        await response.body?.cancel();
        throw failureOf(response);
      }
      return parse(await readLimited(response, maxResponseBytes));
    } catch (error) {
      if (error instanceof ProviderError) throw error;
      signal.throwIfAborted();
      if (timeout.aborted)
        throw new ProviderError(`The AI server did not answer within ${Math.round(timeoutMs / 1000)} seconds.`, true);
      throw new ProviderError('The AI server cannot be reached at the moment.', true);
    }
  }
  return { post };
}

async function readLimited(response: Response, limit: number): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  // Leaving the loop ends the connection.
  for await (const chunk of response.body ?? []) {
    bytes += chunk.length;
    if (bytes > limit) throw new ProviderError('The answer of the AI server is too large.', false);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

function parse(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    throw new ProviderError('The AI server answered something that is not JSON.', true);
  }
}
