import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { sha256Hex } from '../ids.js';
import type { EligibilityCheckData } from './authentications.js';

/** What an unknown authentication is compared with, so that it takes the same road as a known one. */
const NO_HASH = '0'.repeat(64);

/** @returns a secret with 256 random bits that opens one authentication; only its SHA-256 is ever stored */
export function newClientSecret(authenticationId: string): string {
  return `${authenticationId}_secret_${randomBytes(32).toString('base64url')}`;
}

/** @param hash SHA-256 of the right secret, hex; undefined when there is none. Takes the same time either way. */
export function isClientSecret(given: string, hash: string | undefined): boolean {
  const equal = timingSafeEqual(Buffer.from(sha256Hex(given), 'hex'), Buffer.from(hash ?? NO_HASH, 'hex'));
  return equal && hash !== undefined;
}

/**
 * Tells one eligibility check from another, also after its data have been removed. Keyed by the client secret, which is
 * not stored: else whoever reads the database could try out which device it was.
 * @param data as the schema gives it, whose order of fields is the schema's, not the sender's
 */
export function checkFingerprint(clientSecret: string, data: EligibilityCheckData): string {
  return createHmac('sha256', clientSecret).update(JSON.stringify(data)).digest('hex');
}
