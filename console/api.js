import { connection } from './connection.js';
import { session } from './session.js';

/** @typedef {import('../client/schema.d.ts').components['schemas']} Schemas */

/** An error response, or no response at all (status 0). */
export class ApiError extends Error {
  /** @param {number} status @param {string} code @param {string} message */
  constructor(status, code, message) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

/**
 * @typedef {object} CallOptions
 * @property {unknown} [body] sent as JSON
 * @property {FormData} [form] sent instead of a body
 * @property {(share: number) => void} [onProgress] of the form: which share of it is sent, from 0 to 1
 * @property {string} [idempotencyKey] a repeated call with it does not repeat the work
 * @property {import('./session.js').KeySlot} [as] which key of the session
 * @property {string} [key] another key
 * @property {AbortSignal} [signal]
 */

/**
 * Calls the public API.
 * @param {string} method
 * @param {string} path
 * @param {CallOptions} [options]
 * @returns {Promise<any>} the data of the response, without the envelope of the content service
 * @throws {ApiError}
 */
export async function call(method, path, { body, form, onProgress, idempotencyKey, as = 'api', key, signal } = {}) {
  const own = session.key(as);
  const headers = {
    ...credentials(as, key ?? own ?? ''),
    'API-Version': '2',
    ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
    ...(idempotencyKey === undefined ? {} : { 'Idempotency-Key': idempotencyKey }),
  };
  const json = body === undefined ? undefined : JSON.stringify(body);
  const sent = form
    ? sendForm(method, path, headers, form, { onProgress, signal })
    : fetch(path, { method, signal, credentials: 'omit', headers, body: json });
  const response = await sent.catch((error) => {
    if (error.name === 'AbortError') throw error;
    connection.lost();
    throw new ApiError(0, 'NO_RESPONSE', 'The server does not respond.');
  });
  connection.reached();
  const received = await response.json().catch(() => null);
  if (response.ok) return received?.success === true ? received.data : received;
  const { code, message } = faultOf(received);
  // A key that was accepted before has been revoked, or has expired. A late answer does not end the session of the next key.
  if (response.status === 401 && key === undefined && session.key(as) === own) {
    session.signOut({ slot: as, reason: 'Your key is no longer accepted. Sign in with another one.' });
  }
  throw new ApiError(response.status, code, message || `The server responded with status ${response.status}.`);
}

/**
 * Sends a form as `fetch` does. Only `XMLHttpRequest` reports how much of it is sent.
 * @param {string} method
 * @param {string} path
 * @param {Record<string, string>} headers
 * @param {FormData} form
 * @param {Pick<CallOptions, 'onProgress' | 'signal'>} options
 * @returns {Promise<Response>}
 */
function sendForm(method, path, headers, form, { onProgress, signal }) {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open(method, path);
    for (const [name, value] of Object.entries(headers)) request.setRequestHeader(name, value);
    request.upload.onprogress = ({ loaded, total }) => onProgress?.(total === 0 ? 0 : loaded / total);
    request.onload = () => resolve(new Response(request.responseText, { status: request.status }));
    request.onerror = () => reject(new TypeError('no response'));
    request.onabort = () => reject(new DOMException('The form is not sent.', 'AbortError'));
    signal?.addEventListener('abort', () => request.abort());
    request.send(form);
  });
}

/** @param {import('./session.js').KeySlot} slot @param {string} key @returns {Record<string, string>} */
const credentials = (slot, key) => (slot === 'payment' ? { 'api-key': key } : { Authorization: `Bearer ${key}` });

/** Each service has its own shape of errors. @param {any} body */
function faultOf(body) {
  if (typeof body?.error === 'object' && body.error) return body.error;
  return { code: String(body?.error ?? ''), message: String(body?.message ?? '') };
}

/**
 * A path with a query, without the parameters that are empty.
 * @param {string} path
 * @param {Record<string, string | number | null | undefined>} parameters
 */
export function withQuery(path, parameters) {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters)) {
    if (value !== undefined && value !== null && value !== '') query.set(name, String(value));
  }
  return query.size === 0 ? path : `${path}?${query}`;
}
