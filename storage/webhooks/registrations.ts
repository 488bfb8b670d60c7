import { Binary, type Collection } from 'mongodb';
import type { Sealer } from '../../domain/sealing.js';
import type { EventType } from '../../domain/webhooks/events.js';

export interface RegistrationRecord {
  /** The organisation: there is one registration each. */
  _id: string;
  url: string;
  event_types: EventType[];
  sealed_secret: Binary | null;
  /** Since when every attempt has failed; null (or absent) after a success. */
  failing_since?: Date | null;
  /** Set when the service stopped sending; registering again clears it. */
  disabled_at?: Date | null;
  disabled_reason?: string | null;
  created_at: Date;
  updated_at: Date;
}

export type Registrations = ReturnType<typeof createRegistrations>;

/** The one webhook registration of an organisation. Its secret is sealed, and opened only to sign. */
export function createRegistrations(
  { registrations }: { registrations: Collection<RegistrationRecord> },
  sealer: Sealer,
) {
  const context = (org: string) => `webhook-signing-secret/${org}`;
  /** Another attempt may have succeeded, or the webhook been registered anew, since it was read. */
  const unchanged = ({ _id, url, updated_at, failing_since = null }: RegistrationRecord) => ({
    _id,
    url,
    updated_at,
    failing_since,
  });
  const seal = (org: string, secret: string) => new Binary(sealer.seal(secret, context(org)));
  return {
    findForOrg(org: string): Promise<RegistrationRecord | null> {
      return registrations.findOne({ _id: org });
    },

    /**
     * Replaces URL and event types.
     * @param secret a new one; undefined keeps the stored one (specification, rule 2)
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
            failing_since: null,
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

    /** @param secret null removes the stored one. @returns false when nothing is registered */
    async setSecret(org: string, secret: string | null): Promise<boolean> {
      const sealed_secret = secret === null ? null : seal(org, secret);
      const result = await registrations.updateOne({ _id: org }, { $set: { sealed_secret, updated_at: new Date() } });
      return result.matchedCount === 1;
    },

    /** Since when nothing but failures; the registration may have been replaced meanwhile, then it is left alone. */
    async markFailing(seen: RegistrationRecord, since: Date | null): Promise<void> {
      await registrations.updateOne(unchanged(seen), { $set: { failing_since: since } });
    },

    /** Nothing is sent to it any more until it is registered again. */
    async disable(seen: RegistrationRecord, reason: string, now: Date): Promise<void> {
      await registrations.updateOne(
        { ...unchanged(seen), disabled_at: null },
        { $set: { disabled_at: now, disabled_reason: reason } },
      );
    },

    /** @returns the plain secret, null when deliveries go unsigned */
    openSecret(record: RegistrationRecord): string | null {
      return record.sealed_secret === null ? null : sealer.open(record.sealed_secret.value(), context(record._id));
    },
  };
}
