import createClient, { type Client, type Middleware } from 'openapi-fetch';
import type { components, paths } from './schema.js';

/** The shapes of requests and responses, by name: `Schemas['Hit']`. */
export type Schemas = components['schemas'];

/** One method for each HTTP method, with the types of every path: `postback.POST('/query', { body })`. */
export type Postback = Client<paths>;

export interface PostbackOptions {
  /** Address of the API, for example `https://postback.example.com`. */
  url: string;
  /** A key from `postback keys create`, of the kind that the routes need. */
  key: string;
  /** Sends the requests. `globalThis.fetch` when left out. */
  fetch?: (request: Request) => Promise<Response>;
}

/** A client for one key. It sends the key and the API version with each request. */
export function createPostback({ url, key, fetch }: PostbackOptions): Postback {
  const client = createClient<paths>({ baseUrl: url, ...(fetch && { fetch }) });
  const authenticate: Middleware = {
    onRequest({ request, schemaPath }) {
      if (/^\/authentication(\/|$)/.test(schemaPath)) request.headers.set('api-key', key);
      else request.headers.set('authorization', `Bearer ${key}`);
      request.headers.set('api-version', '2');
      return request;
    },
  };
  client.use(authenticate);
  return client;
}

/**
 * Sends a body as a form, for routes that take files: `{ body, bodySerializer: multipart }`. A list of files becomes one field
 * for each file; other lists and objects become JSON.
 */
export function multipart(body: object): FormData {
  const form = new FormData();
  for (const [name, value] of Object.entries(body) as [string, unknown][]) {
    if (value === undefined) continue;
    const values = Array.isArray(value) && value.every((one) => one instanceof Blob) ? value : [value];
    for (const one of values) form.append(name, asField(one));
  }
  return form;
}

function asField(value: unknown): string | Blob {
  if (value instanceof Blob || typeof value === 'string') return value;
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}

/** A response that is not 2xx. */
export class PostbackError extends Error {
  override readonly name = 'PostbackError';
  /** HTTP status. */
  readonly status: number;
  /** The error code, for example `DATABASE_NOT_FOUND`; null in a response without one, such as that of a proxy. */
  readonly code: string | null;
  /** Id of the request, for the operator's log. */
  readonly requestId: string | null;

  constructor(status: number, code: string | null, message: string, requestId: string | null) {
    super(message);
    this.status = status;
    this.code = code;
    this.requestId = requestId;
  }
}

/**
 * Waits for a call and returns the body of its response.
 * @throws PostbackError when the response is not 2xx
 */
export async function bodyOf<Body>(
  call: Promise<{ data?: Body; error?: unknown; response: Response }>,
): Promise<NonNullable<Body>> {
  const { data, error, response } = await call;
  if (response.ok) return data as NonNullable<Body>;
  const { code, message } = detailsOf(error);
  throw new PostbackError(
    response.status,
    code ?? null,
    message ?? `${response.status} ${response.statusText}`,
    response.headers.get('x-request-id'),
  );
}

/** Errors of crews are `{ error, message }`; those of all other services `{ error: { code, message } }`. */
function detailsOf(body: unknown): { code?: string; message?: string } {
  const { error, message } = (body ?? {}) as { error?: string | { code?: string; message?: string }; message?: string };
  if (typeof error === 'object' && error !== null) return error;
  return message === undefined ? {} : { message };
}
