import type { Collection } from 'mongodb';
import type { Sealer } from '../../domain/sealing.js';
import { createSecretSealing, type SigningSecretFields } from '../webhooks/signing-secrets.js';

export interface CrewSigningSecretRecord extends SigningSecretFields {
  /** The organisation. */
  _id: string;
  updated_at: Date;
}

export type CrewSigningSecrets = ReturnType<typeof createCrewSigningSecrets>;

/** The secret with which each organisation's crew callbacks are signed; apart from that of its indexing webhook. */
export function createCrewSigningSecrets(
  { crewSigningSecrets }: { crewSigningSecrets: Collection<CrewSigningSecretRecord> },
  sealer: Sealer,
) {
  const secrets = createSecretSealing(sealer, 'crew-signing-secret');
  return {
    /** Replaces the secret; the replaced one signs beside it for a day. */
    async set(org: string, secret: string): Promise<void> {
      const updated_at = new Date();
      const stored = await crewSigningSecrets.findOne({ _id: org });
      const fields = secrets.replacing(org, stored, secret, updated_at);
      await crewSigningSecrets.updateOne({ _id: org }, [{ $set: { ...fields, updated_at } }], { upsert: true });
    },

    /** Callbacks are unsigned afterwards. @returns false when there was no secret */
    async remove(org: string): Promise<boolean> {
      return (await crewSigningSecrets.deleteOne({ _id: org })).deletedCount === 1;
    },

    /** @returns the secrets that sign now, the current one first; empty when callbacks are not signed */
    async listOpen(org: string, now: Date): Promise<string[]> {
      const stored = await crewSigningSecrets.findOne({ _id: org });
      return stored ? secrets.open(org, stored, now) : [];
    },
  };
}
