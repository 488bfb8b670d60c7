import { FormData, fetch, type Headers, type Response } from 'undici';
import { z } from 'zod';
import { ProviderError } from '../../domain/errors.js';
import type { TokenMeter } from '../../domain/quotas.js';
import { parseRetryAfter } from '../../domain/webhooks/delivery-policy.js';
import { readBody } from './read-body.js';

export interface OpenAiOptions {
  /** Base URL without `/chat/completions`, e.g. `https://api.openai.com/v1`. Set by the operator, so it may be private. */
  baseUrl: string;
  apiKey?: string | undefined;
  /** For one exchange. `fetch` itself waits no longer than five minutes. */
  timeoutMs?: number;
  maxResponseBytes?: number;
}

/** Fields that some models do not take, or with other values only. */
const OPTIONAL_FIELDS = ['max_tokens', 'temperature', 'response_format'] as const;
type OptionalField = (typeof OPTIONAL_FIELDS)[number];

/** The model does not take a field of the request, or not its value. */
export class RejectedFieldError extends ProviderError {
  readonly field: OptionalField;

  constructor(message: string, field: OptionalField) {
    super(message, false);
    this.field = field;
  }
}

export interface OpenAiClient {
  /**
   * Sends a POST request and parses the JSON response.
   * @param path appended to the base URL
   * @param body an object is sent as JSON, a form as multipart
   * @throws ProviderError whose message holds no key, address or content; the signal's reason when it was aborted
   */
  post(path: string, body: Record<string, unknown> | FormData, signal: AbortSignal): Promise<unknown>;
}

const MiB = 1024 * 1024;

/** A client for any server that implements OpenAI's HTTP API. */
export function createOpenAiClient(options: OpenAiOptions): OpenAiClient {
  const { baseUrl, apiKey, timeoutMs = 280_000, maxResponseBytes = 8 * MiB } = options;
  const base = baseUrl.replace(/(?<!\/)\/+$/, '');

  async function post(path: string, body: Record<string, unknown> | FormData, signal: AbortSignal): Promise<unknown> {
    signal.throwIfAborted();
    const timeout = AbortSignal.timeout(timeoutMs);
    const form = body instanceof FormData;
    try {
      const response = await fetch(`${base}${path}`, {
        method: 'POST',
        headers: {
          accept: 'application/json',
          // `fetch` sets the content type of a form, because only it knows the boundary.
          ...(form ? {} : { 'content-type': 'application/json' }),
          ...(apiKey ? { authorization: `Bearer ${apiKey}` } : {}),
        },
        body: form ? body : JSON.stringify(body, wellFormed),
        signal: AbortSignal.any([signal, timeout]),
        // A followed redirect would send texts, and perhaps the key, to an address that nobody configured.
        redirect: 'error',
      });
      if (!response.ok) throw await responseError(response);
      const text = await readBody(response, maxResponseBytes);
      if (text === undefined) throw new ProviderError('The response of the AI server is too large.', false);
      return parse(text);
    } catch (error) {
      if (error instanceof ProviderError) throw error;
      signal.throwIfAborted();
      if (timeout.aborted)
        throw new ProviderError(`The AI server did not respond within ${Math.round(timeoutMs / 1000)} seconds.`, true);
      throw new ProviderError('The AI server cannot be reached at the moment.', true);
    }
  }
  return { post };
}

/** A text may end in half a character where it was cut. Servers reject all of a request with one, each time that it is sent. */
function wellFormed(_name: string, value: unknown): unknown {
  return typeof value === 'string' ? value.toWellFormed() : value;
}

function parse(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    throw new ProviderError('The response of the AI server is not JSON.', true);
  }
}

/** Bytes of an error that are read. */
const MAX_ERROR_BYTES = 64 * 1024;

async function responseError(response: Response): Promise<ProviderError> {
  // Read, and not cancelled: the connection can be used again.
  const text = await readBody(response, MAX_ERROR_BYTES).catch(() => undefined);
  const error = statusError(response);
  const field = response.status === 400 && text !== undefined ? rejectedField(text) : undefined;
  return field ? new RejectedFieldError(error.message, field) : error;
}

/** @param text of an error; OpenAI names the field, and other servers only the one to use */
function rejectedField(text: string): OptionalField | undefined {
  if (text.includes('max_completion_tokens')) return 'max_tokens';
  return OPTIONAL_FIELDS.find((field) => new RegExp(`"param"\\s*:\\s*"${field}"`).test(text));
}

/** Statuses below 500 after which the same request may succeed. */
const TRANSIENT = new Set([408, 409, 425, 429]);

/** Whether the same request may succeed after a response with this status. */
export const isTransient = (status: number): boolean => status >= 500 || TRANSIENT.has(status);

/** What the sender of the job, or the operator, can do about a permanent failure. The server's own text may quote the request. */
const PERMANENT: Record<number, string> = {
  401: "The AI server rejected the service's credentials.",
  402: "The service's account at the AI server is out of credit.",
  403: "The AI server rejected the service's credentials.",
  404: 'The AI server does not know this model, or does not offer this kind of request.',
  413: 'The input is too large for the AI server.',
  415: 'The AI server does not read files of this format.',
};

function statusError({ status, headers }: { status: number; headers: Headers }): ProviderError {
  if (status === 429)
    return new ProviderError('The AI server receives too many requests at the moment.', true, retryAfterMs(headers));
  if (isTransient(status))
    return new ProviderError(`The AI server failed (status ${status}).`, true, retryAfterMs(headers));
  const message =
    PERMANENT[status] ??
    `The AI server rejected the request (status ${status}): the input may be too long or unsuitable for this model.`;
  return new ProviderError(message, false);
}

function retryAfterMs(headers: Headers): number | undefined {
  const value = headers.get('retry-after');
  return (value && parseRetryAfter(value, new Date())) || undefined;
}

const tokenCount = z.int().nonnegative();

/** The names of token counts differ between the routes of OpenAI's API, and servers may leave them out. */
const meteredResponse = z.object({
  usage: z.union([
    z.object({ total_tokens: tokenCount }).transform(({ total_tokens }) => total_tokens),
    z.object({ prompt_tokens: tokenCount, completion_tokens: tokenCount }).transform((used) => {
      return used.prompt_tokens + used.completion_tokens;
    }),
    z.object({ input_tokens: tokenCount, output_tokens: tokenCount }).transform((used) => {
      return used.input_tokens + used.output_tokens;
    }),
  ]),
});

/**
 * A client whose calls count against the token quota of an organisation. A call that has started is finished, so calls
 * at the same time can exceed the quota by what they use.
 * @param meter absent when nothing is counted
 */
export function meteredClient(client: OpenAiClient, meter: TokenMeter | undefined): OpenAiClient {
  if (!meter) return client;
  return {
    async post(...request) {
      await meter.admit();
      const result = await client.post(...request);
      const { data } = meteredResponse.safeParse(result);
      // A response that is rejected later has used its tokens too.
      if (data && data.usage > 0) await meter.count(data.usage);
      return result;
    },
  };
}
