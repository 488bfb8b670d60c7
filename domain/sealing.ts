import { createCipheriv, createDecipheriv, createHash, randomBytes } from 'node:crypto';

/**
 * What values are sealed for. `storage/sealed-fields.ts` says where the values of each purpose are, so that a rotation of
 * the sealing key finds all of them.
 */
export const SEALED_PURPOSES = [
  'webhook-signing-secret',
  'crew-signing-secret',
  'payment-signing-secret',
  'job-signing-key',
  'webhook-headers',
  'job-headers',
  'crew-headers',
  'connector-credentials',
  'authentication-details',
  'eligibility-decision',
  'eligibility-data',
  'idempotency',
] as const;
export type SealedPurpose = (typeof SEALED_PURPOSES)[number];

/** The purpose and the id of the record, so that a sealed value cannot be moved to another record or field. */
export type SealedContext = `${SealedPurpose}/${string}`;

/** Encrypts secrets for storage (AES-256-GCM). */
export interface Sealer {
  /** Id of the key that seals. */
  keyId: string;
  seal(secret: string, context: SealedContext): Buffer;
  /** @throws Error when the value was sealed with an unknown key or another context, or was altered */
  open(sealed: Uint8Array, context: SealedContext): string;
  /** Whether the value was sealed with the key that seals now. */
  isCurrent(sealed: Uint8Array): boolean;
}

const KEY_BYTES = 32;
const KEY_ID_BYTES = 8;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
/** A sealed value: the format, the key's id, and what `encrypt` returns. */
const FORMAT = 2;
const HEADER_BYTES = 1 + KEY_ID_BYTES;

/**
 * @param keys 32 bytes in base64, or several such keys separated by commas or white space. The first seals, all open
 * @throws Error when a key has another length
 */
export function createSealer(keys: string): Sealer {
  const secretKeys = splitKeys(keys).map(readKey);
  const [current] = secretKeys;
  if (!current) throw new Error('POSTBACK_SEALING_KEY is empty');
  const byId = new Map(secretKeys.map((key) => [keyIdOf(key), key]));
  const keyId = keyIdOf(current);
  const header = Buffer.concat([Buffer.from([FORMAT]), Buffer.from(keyId, 'hex')]);

  return {
    keyId,
    seal(secret, context) {
      return Buffer.concat([header, encrypt(current, Buffer.from(secret), context)]);
    },
    open(sealed, context) {
      const bytes = Buffer.from(sealed);
      if (bytes[0] !== FORMAT) throw new Error('sealed value of an unknown format');
      const id = sealedWith(bytes);
      const key = byId.get(id);
      if (!key) throw new Error(`a value was sealed with the key ${id}, which is not in POSTBACK_SEALING_KEY`);
      return decrypt(key, bytes.subarray(HEADER_BYTES), context).toString('utf8');
    },
    isCurrent: (sealed) => header.equals(sealed.subarray(0, HEADER_BYTES)),
  };
}

/**
 * Encrypts with AES-256-GCM.
 * @param context not encrypted; decrypting needs the same
 * @returns the nonce, the tag, the encrypted bytes
 */
export function encrypt(key: Buffer, bytes: Uint8Array, context = ''): Buffer {
  const nonce = randomBytes(NONCE_BYTES);
  const cipher = createCipheriv('aes-256-gcm', key, nonce).setAAD(Buffer.from(context));
  const body = Buffer.concat([cipher.update(bytes), cipher.final()]);
  return Buffer.concat([nonce, cipher.getAuthTag(), body]);
}

/** @param encrypted by `encrypt` @throws Error for another key or context, and for bytes that were altered */
export function decrypt(key: Buffer, encrypted: Buffer, context = ''): Buffer {
  const [nonce, rest] = [encrypted.subarray(0, NONCE_BYTES), encrypted.subarray(NONCE_BYTES)];
  const decipher = createDecipheriv('aes-256-gcm', key, nonce, { authTagLength: TAG_BYTES });
  decipher.setAAD(Buffer.from(context)).setAuthTag(rest.subarray(0, TAG_BYTES));
  return Buffer.concat([decipher.update(rest.subarray(TAG_BYTES)), decipher.final()]);
}

/** @returns the id of the key that a value was sealed with */
export function sealedWith(sealed: Uint8Array): string {
  return Buffer.from(sealed).toString('hex', 1, HEADER_BYTES);
}

/** @returns the ids of these keys. @throws Error when a key has another length */
export function sealingKeyIds(keys: string): string[] {
  return splitKeys(keys).map((key) => keyIdOf(readKey(key)));
}

function splitKeys(keys: string): string[] {
  return keys.split(/[\s,]+/).filter((key) => key !== '');
}

function readKey(key: string): Buffer {
  const bytes = Buffer.from(key, 'base64');
  if (bytes.length !== KEY_BYTES) throw new Error(`POSTBACK_SEALING_KEY must be ${KEY_BYTES} bytes, base64 encoded`);
  return bytes;
}

/** Hex. Says nothing about the key. */
function keyIdOf(key: Buffer): string {
  return createHash('sha256')
    .update('postback sealing key')
    .update(key)
    .digest('hex')
    .slice(0, 2 * KEY_ID_BYTES);
}
