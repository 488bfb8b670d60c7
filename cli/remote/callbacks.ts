import { readFileSync } from 'node:fs';
import { verifyCallback, type WebhookHeaders, WebhookVerificationError } from '../../receiver/index.js';
import { paint, print } from './output.js';
import { findServer, type ServerOptions } from './server.js';

export interface VerifyOptions extends ServerOptions {
  /** Signing secrets of indexing webhooks, crews or payments. */
  secret?: string[];
  /** File with the public keys of AI jobs; read from the server when it is left out. */
  publicKey?: string;
}

/** What a callback's signature is checked with. */
export interface CallbackKeys {
  secret: string[];
  publicKeyPem: string | undefined;
}

/** @returns the keys that are given, and the public key of the server if one responds */
export async function callbackKeys(options: VerifyOptions): Promise<CallbackKeys> {
  const { secret = [], publicKey } = options;
  const secrets = secret.length > 0 ? secret : [process.env.POSTBACK_SIGNING_SECRET ?? ''].filter(Boolean);
  const publicKeyPem = publicKey === undefined ? await publicKeyOf(options) : readFileSync(publicKey, 'utf8');
  return { secret: secrets, publicKeyPem };
}

async function publicKeyOf(options: ServerOptions): Promise<string | undefined> {
  try {
    const call = findServer(options).client().GET('/v3/ai/webhook-public-key', { parseAs: 'text' });
    return ((await call).data as string | undefined) ?? undefined;
  } catch {
    // Callbacks of jobs are then reported as not verifiable.
    return undefined;
  }
}

/** @returns null for a callback that is signed as it should be, else the code of the failure and its reason */
export function checkCallback(body: Buffer, headers: WebhookHeaders, keys: CallbackKeys, age?: number): string | null {
  try {
    verifyCallback(body, headers, keys, age === undefined ? {} : { toleranceSeconds: age });
    return null;
  } catch (error) {
    if (error instanceof WebhookVerificationError) return `${error.code}: ${error.message}`;
    throw error;
  }
}

/**
 * `postback verify`: checks the signature of a stored callback, of any age. The exit code is 1 when it does not match.
 * @param bodyFile the raw body
 * @param options `headers` is a file with a header a line, or a JSON object
 */
export async function verify(bodyFile: string, options: VerifyOptions & { headers: string }): Promise<void> {
  const headers = readHeaders(readFileSync(options.headers, 'utf8'));
  const failure = checkCallback(readFileSync(bodyFile), headers, await callbackKeys(options), Number.POSITIVE_INFINITY);
  const text = () => (failure === null ? `${paint('green', '✓')} verified` : `${paint('red', '✗')} ${failure}`);
  print(options, { verified: failure === null, failure }, text);
  if (failure !== null) process.exitCode = 1;
}

function readHeaders(text: string): Record<string, string> {
  if (text.trimStart().startsWith('{')) return JSON.parse(text);
  const lines = text.split(/\r?\n/).filter((line) => line.includes(':'));
  return Object.fromEntries(
    lines.map((line) => [line.slice(0, line.indexOf(':')).trim(), line.slice(line.indexOf(':') + 1).trim()]),
  );
}
