import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';

/** Encrypts secrets for storage (AES-256-GCM). */
export interface Sealer {
  /** @param context identifies the record, so that a sealed value cannot be moved to another record */
  seal(secret: string, context: string): Buffer;
  /** @throws Error when the value was sealed with another key or context, or was altered */
  open(sealed: Uint8Array, context: string): string;
}

const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const FORMAT = 1;

/** @param key 32 bytes in base64. @throws Error when the key has another length */
export function createSealer(key: string): Sealer {
  const secretKey = Buffer.from(key, 'base64');
  if (secretKey.length !== 32) throw new Error('POSTBACK_SEALING_KEY must be 32 bytes, base64 encoded');
  return {
    seal(secret, context) {
      const nonce = randomBytes(NONCE_BYTES);
      const cipher = createCipheriv('aes-256-gcm', secretKey, nonce).setAAD(Buffer.from(context));
      const body = Buffer.concat([cipher.update(secret, 'utf8'), cipher.final()]);
      return Buffer.concat([Buffer.from([FORMAT]), nonce, cipher.getAuthTag(), body]);
    },
    open(sealed, context) {
      const bytes = Buffer.from(sealed);
      if (bytes[0] !== FORMAT) throw new Error('sealed value of an unknown format');
      const nonce = bytes.subarray(1, 1 + NONCE_BYTES);
      const tag = bytes.subarray(1 + NONCE_BYTES, 1 + NONCE_BYTES + TAG_BYTES);
      const decipher = createDecipheriv('aes-256-gcm', secretKey, nonce).setAAD(Buffer.from(context)).setAuthTag(tag);
      const body = bytes.subarray(1 + NONCE_BYTES + TAG_BYTES);
      return Buffer.concat([decipher.update(body), decipher.final()]).toString('utf8');
    },
  };
}
