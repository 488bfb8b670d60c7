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
 * Calls the public API.
 * @param {string} method
 * @param {string} path
 * @param {{ body?: unknown, as?: import('./session.js').KeySlot, key?: string, signal?: AbortSignal }} [options]
 *   `as`: which key of the session; `key`: another key
 * @returns {Promise<any>} the data of the response, without the envelope of the content service
 * @throws {ApiError}
 */
export async function call(method, path, { body, as = 'api', key, signal } = {}) {
  const response = await fetch(path, {
    method,
    signal,
    credentials: 'omit',
    headers: {
      ...credentials(as, key ?? session.key(as) ?? ''),
      'API-Version': '2',
      ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
    },
    body: body === undefined ? undefined : JSON.stringify(body),
  }).catch((error) => {
    if (error.name === 'AbortError') throw error;
    throw new ApiError(0, 'NO_RESPONSE', 'The server does not respond.');
  });
  const received = await response.json().catch(() => null);
  if (response.ok) return received?.success === true ? received.data : received;
  const { code, message } = faultOf(received);
  // A key that was accepted before has been revoked, or has expired.
  if (response.status === 401 && key === undefined) {
    session.signOut({ slot: as, reason: 'Your key is no longer accepted. Sign in with another one.' });
  }
  throw new ApiError(response.status, code, message || `The server responded with status ${response.status}.`);
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
