import type { Collection } from 'mongodb';
import type { Sealer } from '../../domain/sealing.js';
import type { EventType } from '../../domain/webhooks/events.js';
import type { FailureStreak } from '../../domain/webhooks/registrations.js';
import type { DatabaseClock } from '../clock.js';
import { createSecretSealing, NO_SECRETS, type SigningSecretFields } from './signing-secrets.js';

export interface RegistrationRecord extends SigningSecretFields {
  /** The organisation; it has one registration. */
  _id: string;
  url: string;
  event_types: EventType[];
  /** The failed attempts since the last success; null or absent after a success. */
  failing?: FailureStreak | null;
  /** Set when the service disabled the webhook; registering again clears it. */
  disabled_at?: Date | null;
  disabled_reason?: string | null;
  created_at: Date;
  updated_at: Date;
}

export type Registrations = ReturnType<typeof createRegistrations>;

/** The webhook registration of each organisation. Secrets are sealed, and opened only to sign. */
export function createRegistrations(
  { registrations, now: clock }: { registrations: Collection<RegistrationRecord>; now: DatabaseClock },
  sealer: Sealer,
) {
  const secrets = createSecretSealing(clock, sealer, 'webhook-signing-secret');
  /** Matches only if no attempt has succeeded and the webhook has not been registered again since it was read. */
  const unchanged = ({ _id, url, updated_at, failing = null }: RegistrationRecord) => ({
    _id,
    url,
    updated_at,
    failing,
  });
  const findForOrg = (org: string) => registrations.findOne({ _id: org });

  return {
    /** @returns null when nothing is registered */
    findForOrg(org: string): Promise<RegistrationRecord | null> {
      return findForOrg(org);
    },

    /**
     * Creates the registration, or replaces its URL and event types, and enables it.
     * @param secret the new secret; undefined keeps the stored secret (specification, rule 2)
     */
    async register(org: string, url: string, eventTypes: EventType[], secret?: string): Promise<RegistrationRecord> {
      const now = clock();
      const replaced = secret === undefined ? {} : secrets.replacing(org, await findForOrg(org), secret);
      const record = await registrations.findOneAndUpdate(
        { _id: org },
        [
          {
            $set: {
              url: { $literal: url },
              event_types: eventTypes,
              created_at: { $ifNull: ['$created_at', now] },
              updated_at: now,
              failing: null,
              disabled_at: null,
              disabled_reason: null,
              sealed_secret: { $ifNull: ['$sealed_secret', null] },
              ...replaced,
            },
          },
        ],
        { upsert: true, returnDocument: 'after' },
      );
      return record!;
    },

    /** Removes the registration and its secret. @returns false when there was none */
    async remove(org: string): Promise<boolean> {
      return (await registrations.deleteOne({ _id: org })).deletedCount === 1;
    },

    /** @param secret null removes all stored secrets. @returns false when nothing is registered */
    async setSecret(org: string, secret: string | null): Promise<boolean> {
      const updated_at = clock();
      const fields = secret === null ? NO_SECRETS : secrets.replacing(org, await findForOrg(org), secret);
      const result = await registrations.updateOne({ _id: org }, [{ $set: { ...fields, updated_at } }]);
      return result.matchedCount === 1;
    },

    /**
     * Stores the streak of failed attempts. Does nothing when the registration has changed since it was read.
     * @param disable disables the webhook until the organisation registers again
     */
    async recordFailing(
      read: RegistrationRecord,
      failing: FailureStreak | null,
      disable?: { at: Date; reason: string },
    ): Promise<void> {
      await registrations.updateOne(
        { ...unchanged(read), disabled_at: null },
        { $set: { failing, ...(disable ? { disabled_at: disable.at, disabled_reason: disable.reason } : {}) } },
      );
    },

    /** @returns the secrets that sign now, the current one first; empty when webhooks are not signed */
    openSecrets(record: RegistrationRecord): string[] {
      return secrets.open(record._id, record);
    },
  };
}
