import { Binary, type Collection } from 'mongodb';
import type { SealedContext, Sealer } from '../../domain/sealing.js';
import type { EventType } from '../../domain/webhooks/events.js';
import type { FailureStreak } from '../../domain/webhooks/failure-streak.js';

export interface RegistrationRecord {
  /** The organisation; it has one registration. */
  _id: string;
  url: string;
  event_types: EventType[];
  sealed_secret: Binary | null;
  /** The failed attempts since the last success; null or absent after a success. */
  failing?: FailureStreak | null;
  /** Set when the service disabled the webhook; registering again clears it. */
  disabled_at?: Date | null;
  disabled_reason?: string | null;
  created_at: Date;
  updated_at: Date;
}

export type Registrations = ReturnType<typeof createRegistrations>;

/** The webhook registration of each organisation. The secret is sealed, and opened only to sign. */
export function createRegistrations(
  { registrations }: { registrations: Collection<RegistrationRecord> },
  sealer: Sealer,
) {
  const context = (org: string): SealedContext => `webhook-signing-secret/${org}`;
  /** Matches only if no attempt has succeeded and the webhook has not been registered again since it was read. */
  const unchanged = ({ _id, url, updated_at, failing = null }: RegistrationRecord) => ({
    _id,
    url,
    updated_at,
    failing,
  });
  const seal = (org: string, secret: string) => new Binary(sealer.seal(secret, context(org)));
  return {
    /** @returns null when nothing is registered */
    findForOrg(org: string): Promise<RegistrationRecord | null> {
      return registrations.findOne({ _id: org });
    },

    /**
     * Creates the registration, or replaces its URL and event types, and enables it.
     * @param secret the new secret; undefined keeps the stored secret (specification, rule 2)
     */
    async register(org: string, url: string, eventTypes: EventType[], secret?: string): Promise<RegistrationRecord> {
      const now = new Date();
      const record = await registrations.findOneAndUpdate(
        { _id: org },
        {
          $set: {
            url,
            event_types: eventTypes,
            updated_at: now,
            failing: null,
            disabled_at: null,
            disabled_reason: null,
            ...(secret === undefined ? {} : { sealed_secret: seal(org, secret) }),
          },
          $setOnInsert: { created_at: now, ...(secret === undefined ? { sealed_secret: null } : {}) },
        },
        { upsert: true, returnDocument: 'after' },
      );
      return record!;
    },

    /** Removes the registration and its secret. @returns false when there was none */
    async remove(org: string): Promise<boolean> {
      return (await registrations.deleteOne({ _id: org })).deletedCount === 1;
    },

    /** @param secret null removes the stored secret. @returns false when nothing is registered */
    async setSecret(org: string, secret: string | null): Promise<boolean> {
      const sealed_secret = secret === null ? null : seal(org, secret);
      const result = await registrations.updateOne({ _id: org }, { $set: { sealed_secret, updated_at: new Date() } });
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

    /** @returns the plain secret, or null when webhooks are not signed */
    openSecret(record: RegistrationRecord): string | null {
      return record.sealed_secret === null ? null : sealer.open(record.sealed_secret.value(), context(record._id));
    },
  };
}
