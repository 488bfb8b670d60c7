import type { Sealer } from '../../domain/sealing.js';
import type { Access } from '../collections.js';
import { createOrganisationSecrets, type OrganisationSecretRecord } from '../webhooks/signing-secrets.js';

export type CrewSigningSecretRecord = OrganisationSecretRecord;
export type CrewSigningSecrets = ReturnType<typeof createCrewSigningSecrets>;

/** The secret with which each organisation's crew callbacks are signed; apart from that of its indexing webhook. */
export function createCrewSigningSecrets(
  { crewSigningSecrets, now }: Access<'crewSigningSecrets' | 'now'>,
  sealer: Sealer,
) {
  return {
    ...createOrganisationSecrets(crewSigningSecrets, now, sealer, 'crew-signing-secret'),

    /** Callbacks are unsigned afterwards. @returns false when there was no secret */
    async remove(org: string): Promise<boolean> {
      return (await crewSigningSecrets.deleteOne({ _id: org })).deletedCount === 1;
    },
  };
}
