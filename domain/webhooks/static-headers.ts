/** Headers of a receiver's choosing, such as the `Authorization` of a gateway, which its callbacks carry beside ours. */
import { z } from 'zod';

/** Headers by name, as the client has sent them. */
export type StaticHeaders = Record<string, string>;

export const MAX_HEADERS = 10;
/** Characters of all names and values together. */
export const MAX_HEADER_CHARACTERS = 8_192;

/** RFC 9110, 5.1. */
const NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,100}$/;
/** Visible ASCII, with blanks inside only: nothing that could end the header. */
const VALUE = /^[\x21-\x7e](?:[\t\x20-\x7e]*[\x21-\x7e])?$/;

/** Headers of the connection and of the message, which the sender sets, and those that identify it. */
const OURS = new Set([
  'connection',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'expect',
  'host',
  'user-agent',
  'traceparent',
  'tracestate',
]);
const OUR_PREFIXES = ['content-', 'webhook-', 'x-service-'];

function isOurs(name: string): boolean {
  const lower = name.toLowerCase();
  return OURS.has(lower) || OUR_PREFIXES.some((prefix) => lower.startsWith(prefix));
}

/** Messages name headers and never quote a value. */
export const staticHeadersSchema = z
  .record(z.string(), z.string())
  .superRefine((headers, ctx) => {
    const reject = (message: string, name?: string) =>
      ctx.addIssue({ code: 'custom', message, path: name === undefined ? [] : [name] });
    const entries = Object.entries(headers);
    if (entries.length > MAX_HEADERS) return reject(`must not have more than ${MAX_HEADERS} headers`);
    const size = entries.reduce((sum, [name, value]) => sum + name.length + value.length, 0);
    if (size > MAX_HEADER_CHARACTERS)
      return reject(`must not exceed ${MAX_HEADER_CHARACTERS} characters, names and values together`);
    const seen = new Set<string>();
    for (const [name, value] of entries) {
      if (!NAME.test(name)) return reject('is not the name of a header', name);
      if (isOurs(name)) return reject('is set by the sender and cannot be replaced', name);
      if (seen.has(name.toLowerCase())) return reject('is given twice', name);
      if (!VALUE.test(value)) return reject('must be visible ASCII characters, with blanks between them only', name);
      seen.add(name.toLowerCase());
    }
  })
  .meta({
    maxProperties: MAX_HEADERS,
    propertyNames: { pattern: NAME.source },
    additionalProperties: { type: 'string', pattern: VALUE.source },
    description:
      `Headers that the callbacks carry, for receivers behind a gateway, such as \`Authorization\`: at most ${MAX_HEADERS}, of ` +
      `${MAX_HEADER_CHARACTERS} characters together. They are stored encrypted, and only their names are shown. Headers of the ` +
      'connection, `Host`, `User-Agent`, `Content-…`, `webhook-…` and `X-Service-…` are rejected.',
  });

/**
 * Whether headers that were given for some receivers may be sent to others: only to the same origins, because they are
 * credentials.
 */
export function areSameOrigins(before: readonly string[], now: readonly string[]): boolean {
  const origins = new Set(before.map((url) => new URL(url).origin));
  return now.every((url) => origins.has(new URL(url).origin));
}
