import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { sha256Hex } from '../ids.js';
import type { EligibilityCheckData } from './authentications.js';

/** Compared with when the authentication is unknown, so that the check takes the same time. */
const NO_HASH = '0'.repeat(64);

/** @returns a secret with 256 random bits for one authentication. Only its SHA-256 may be stored */
export function newClientSecret(authenticationId: string): string {
  return `${authenticationId}_secret_${randomBytes(32).toString('base64url')}`;
}

/** @param hash SHA-256 of the secret in hex, or undefined when the authentication is unknown. Takes the same time in both cases */
export function isClientSecret(given: string, hash: string | undefined): boolean {
  const equal = timingSafeEqual(Buffer.from(sha256Hex(given), 'hex'), Buffer.from(hash ?? NO_HASH, 'hex'));
  return equal && hash !== undefined;
}

/**
 * Identifies an eligibility check, also after its data was removed. The key is the client secret, which is not stored, so
 * that readers of the database cannot guess the device.
 * @param data as parsed by the schema, with fields in the schema's order
 * @returns HMAC-SHA256 in hex
 */
export function checkFingerprint(clientSecret: string, data: EligibilityCheckData): string {
  return createHmac('sha256', clientSecret).update(JSON.stringify(data)).digest('hex');
}
