import { createHash, type KeyObject, sign } from 'node:crypto';
import { canonicalObject } from '../canonical-json.js';

/**
 * The signature of an AI job's callback (specification, "Callback signature"): RSA PKCS#1 v1.5 with SHA-256 over the
 * hex SHA-256 of the body, in hex.
 * @param body the bytes that are sent
 * @returns the value of `X-Service-Signature`
 */
export function jobCallbackSignature(body: Uint8Array, privateKey: KeyObject): string {
  const digest = createHash('sha256').update(body).digest('hex');
  return sign('sha256', Buffer.from(digest, 'utf8'), privateKey).toString('hex');
}

/** Headers of an AI job's callback (specification, "Endpoints"). */
export function jobCallbackHeaders(signature: string): Record<string, string> {
  return {
    'Content-Type': 'application/json',
    'User-Agent': 'Postback-Webhook/1.0',
    'X-Service-Webhook': 'true',
    'X-Service-Signature': signature,
    'X-Service-Hash-Algorithm': 'SHA256',
  };
}

/**
 * @param job the members of the payload, each as canonical JSON
 * @returns the body of a callback, in the form in which it is signed and sent
 */
export function jobCallbackBody(job: { [name: string]: string }): Buffer {
  return Buffer.from(canonicalObject({ event: '"async_job_completed"', ...job }), 'utf8');
}
