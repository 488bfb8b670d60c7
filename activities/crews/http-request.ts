import { LRUCache } from 'lru-cache';
import type { HttpTool } from '../../domain/crews/crews.js';
import { ProviderError } from '../../domain/errors.js';
import {
  BlockedAddressError,
  type OutboundClient,
  OutboundError,
  type OutboundRequest,
  type OutboundResponse,
} from '../../domain/outbound.js';
import { isSuccess, isTransient } from '../download.js';
import { ToolError } from './tool.js';

export interface ToolHttp {
  outbound: Pick<OutboundClient, 'send'>;
  /** Values for `${NAME}` in the headers that `crew.yaml` gives its tools. */
  secrets: Readonly<Record<string, string>>;
}

/** Its headers are sent as they are: what a server or a model has written is never expanded. */
export interface ToolRequest extends Pick<OutboundRequest, 'method' | 'url' | 'headers'> {
  /** JSON. */
  body?: unknown;
  /** Whether the request can be repeated after an error. */
  repeatable: boolean;
  signal: AbortSignal;
}

const TIMEOUT_MS = 60_000;
export const MAX_BYTES = 2 * 1024 * 1024;

/**
 * Sends a request of a tool through the guarded client.
 * @throws ToolError for the model; ProviderError for an error that may be transient, when the request can be repeated
 */
export async function sendToolRequest(http: ToolHttp, request: ToolRequest): Promise<OutboundResponse> {
  const { method, url, body, repeatable, signal } = request;
  const transient = (message: string) => (repeatable ? new ProviderError(message, true) : new ToolError(message));
  const response = await http.outbound
    .send({
      method,
      url,
      headers: {
        accept: 'application/json',
        ...request.headers,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body: Buffer.from(JSON.stringify(body)) }),
      timeoutMs: TIMEOUT_MS,
      maxResponseBytes: MAX_BYTES,
      signal,
    })
    .catch((error: unknown) => {
      if (signal.aborted) throw signal.reason;
      if (error instanceof BlockedAddressError) throw new ToolError(`This address is not called: ${error.message}`);
      if (error instanceof OutboundError) throw transient(`The tool's server could not be reached: ${error.message}.`);
      throw error;
    });
  if (isSuccess(response.status)) return response;
  if (isTransient(response.status)) throw transient(`The tool's server responded with ${response.status}.`);
  const text = response.body.toString('utf8').slice(0, 2_000).trim();
  throw new ToolError(`The tool's server responded with ${response.status}.${text === '' ? '' : `\n${text}`}`);
}

const SECRET = /\$\{(\w+)\}/g;

/** Whether the headers of a tool name secrets. */
export function namesSecrets({ headers }: Pick<HttpTool, 'headers'>): boolean {
  return Object.values(headers).some((text) => text.search(SECRET) >= 0);
}

/**
 * The headers that `crew.yaml` gives a tool, in lower case, with the secrets that they name. Call it before anything is merged
 * into them: a name in a text of a server or a model must not become a secret.
 * @throws ToolError when a secret is not configured
 */
export function ownHeaders(
  { headers }: Pick<HttpTool, 'headers'>,
  secrets: Readonly<Record<string, string>>,
): Record<string, string> {
  const fill = (text: string) =>
    text.replace(SECRET, (_whole, name: string) => {
      if (!Object.hasOwn(secrets, name)) throw new ToolError(`The secret "${name}" of the tool is not configured.`);
      return secrets[name]!;
    });
  return Object.fromEntries(Object.entries(headers).map(([name, text]) => [name.toLowerCase(), fill(text)]));
}

const CACHE_MS = 10 * 60_000;
const MAX_CACHED = 200;

/** Keeps what a server said for a while, so that not every model call asks for it again. */
export function createCache<Value>() {
  const entries = new LRUCache<string, Promise<Value>>({ max: MAX_CACHED, ttl: CACHE_MS });
  return (key: string, load: () => Promise<Value>): Promise<Value> => {
    const found = entries.get(key);
    if (found) return found;
    const value = load();
    entries.set(key, value);
    value.catch(() => entries.delete(key));
    return value;
  };
}
