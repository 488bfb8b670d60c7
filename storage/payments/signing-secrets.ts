import { Binary } from 'mongodb';
import { newSigningSecret } from '../../domain/ids.js';
import type { Sealer } from '../../domain/sealing.js';
import type { Access } from '../collections.js';
import { isDuplicateKey } from '../transactions.js';
import { createOrganisationSecrets, type OrganisationSecretRecord } from '../webhooks/signing-secrets.js';

export type PaymentSigningSecretRecord = OrganisationSecretRecord;
export type PaymentSigningSecrets = ReturnType<typeof createPaymentSigningSecrets>;

/** The secret with which an organisation's callbacks of authentications are signed. It can be replaced, not removed. */
export function createPaymentSigningSecrets(
  { paymentSigningSecrets, now }: Access<'paymentSigningSecrets' | 'now'>,
  sealer: Sealer,
) {
  return {
    ...createOrganisationSecrets(paymentSigningSecrets, now, sealer, 'payment-signing-secret'),

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
          updated_at: now(),
        });
        return secret;
      } catch (error) {
        // Another request has generated it.
        if (isDuplicateKey(error)) return null;
        throw error;
      }
    },
  };
}
