import { Binary, type Collection } from 'mongodb';
import { newSigningSecret } from '../../domain/ids.js';
import type { Sealer } from '../../domain/sealing.js';
import { isDuplicateKey } from '../transactions.js';
import { createSecretSealing, type SigningSecretFields } from '../webhooks/signing-secrets.js';

export interface PaymentSigningSecretRecord extends SigningSecretFields {
  /** The organisation. */
  _id: string;
  updated_at: Date;
}

export type PaymentSigningSecrets = ReturnType<typeof createPaymentSigningSecrets>;

/** The secret with which an organisation's callbacks of authentications are signed. It can be replaced, not removed. */
export function createPaymentSigningSecrets(
  { paymentSigningSecrets }: { paymentSigningSecrets: Collection<PaymentSigningSecretRecord> },
  sealer: Sealer,
) {
  const secrets = createSecretSealing(sealer, 'payment-signing-secret');
  return {
    /** @returns a new secret when the organisation had none, else null */
    async generateFirst(org: string): Promise<string | null> {
      if (await paymentSigningSecrets.findOne({ _id: org }, { projection: { _id: 1 } })) return null;
      const secret = newSigningSecret();
      const sealed_secret = new Binary(sealer.seal(secret, `payment-signing-secret/${org}`));
      try {
        await paymentSigningSecrets.insertOne({
          _id: org,
          sealed_secret,
          previous_secrets: [],
          updated_at: new Date(),
        });
        return secret;
      } catch (error) {
        // Another request has generated it.
        if (isDuplicateKey(error)) return null;
        throw error;
      }
    },

    /** Replaces the secret; the replaced one signs beside it for a day. */
    async set(org: string, secret: string): Promise<void> {
      const updated_at = new Date();
      const stored = await paymentSigningSecrets.findOne({ _id: org });
      const fields = secrets.replacing(org, stored, secret, updated_at);
      await paymentSigningSecrets.updateOne({ _id: org }, [{ $set: { ...fields, updated_at } }], { upsert: true });
    },

    /** @returns the secrets that sign now, the current one first */
    async listOpen(org: string, now: Date): Promise<string[]> {
      const stored = await paymentSigningSecrets.findOne({ _id: org });
      return stored ? secrets.open(org, stored, now) : [];
    },
  };
}
