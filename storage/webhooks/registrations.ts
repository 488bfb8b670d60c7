import type { Sealer } from '../../domain/sealing.js';
import type { EventType } from '../../domain/webhooks/events.js';
import type { FailureStreak } from '../../domain/webhooks/registrations.js';
import { areSameOrigins, type StaticHeaders } from '../../domain/webhooks/static-headers.js';
import type { Access } from '../collections.js';
import { RATED_INDEX } from '../indexes.js';
import { createSecretSealing, NO_SECRETS, type SigningSecretFields } from './signing-secrets.js';
import { createHeaderSealing, type StoredHeaders } from './static-headers.js';

export interface RegistrationRecord extends SigningSecretFields {
  /** The organisation; it has one registration. */
  _id: string;
  url: string;
  event_types: EventType[];
  /** Null or absent: none. */
  headers?: StoredHeaders | null;
  /** Requests that the receiver gets in a second, at most; null or absent: any number. */
  max_per_second?: number | null;
  /** The failed attempts since the last success; null or absent after a success. */
  failing?: FailureStreak | null;
  /** Set when the service disabled the webhook; registering again clears it. */
  disabled_at?: Date | null;
  disabled_reason?: string | null;
  created_at: Date;
  updated_at: Date;
}

/** What a receiver asks for. */
export interface ReceiverOptions {
  headers?: StaticHeaders | undefined;
  /** Null: no limit. */
  max_per_second?: number | null | undefined;
}

export type Registrations = ReturnType<typeof createRegistrations>;

/** The webhook registration of each organisation. Secrets are sealed, and opened only to sign. */
export function createRegistrations({ registrations, now: clock }: Access<'registrations' | 'now'>, sealer: Sealer) {
  const secrets = createSecretSealing(clock, sealer, 'webhook-signing-secret');
  const sealing = createHeaderSealing(sealer, 'webhook-headers');
  /** Matches only if no attempt has succeeded and the webhook has not been registered again since it was read. */
  const unchanged = ({ _id, url, updated_at, failing = null }: RegistrationRecord) => ({
    _id,
    url,
    updated_at,
    failing,
  });
  /** @returns null when nothing is registered */
  const findForOrg = (org: string): Promise<RegistrationRecord | null> => registrations.findOne({ _id: org });

  return {
    findForOrg,

    /**
     * Creates the registration, or replaces its URL, event types and rate, and enables it. What clients cannot read is kept unless
     * they send it again: the secret (specification, rule 2), and the headers while the origin stays the same.
     */
    async register(
      org: string,
      url: string,
      eventTypes: EventType[],
      secret?: string,
      { headers, max_per_second = null }: ReceiverOptions = {},
    ): Promise<RegistrationRecord> {
      const now = clock();
      const stored = await findForOrg(org);
      const replaced = secret === undefined ? {} : secrets.replacing(org, stored, secret);
      const keepsHeaders = stored !== null && areSameOrigins([stored.url], [url]);
      // The URL may have been replaced since it was read.
      const kept = keepsHeaders
        ? { $cond: [{ $eq: ['$url', { $literal: stored.url }] }, { $ifNull: ['$headers', null] }, null] }
        : null;
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
              headers: headers === undefined ? kept : { $literal: sealing.seal(org, headers) },
              max_per_second,
              sealed_secret: { $ifNull: ['$sealed_secret', null] },
              ...replaced,
            },
          },
        ],
        { upsert: true, returnDocument: 'after' },
      );
      return record!;
    },

    /** Sends no more webhooks until the organisation registers again. @returns null when nothing is registered */
    disable(org: string, reason: string): Promise<RegistrationRecord | null> {
      const now = clock();
      return registrations.findOneAndUpdate(
        { _id: org },
        [{ $set: { disabled_at: { $ifNull: ['$disabled_at', now] }, disabled_reason: reason, updated_at: now } }],
        { returnDocument: 'after' },
      );
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
     * @returns whether it was stored
     */
    async recordFailing(
      read: RegistrationRecord,
      failing: FailureStreak | null,
      disable?: { at: Date; reason: string },
    ): Promise<boolean> {
      const { matchedCount } = await registrations.updateOne(
        { ...unchanged(read), disabled_at: null },
        { $set: { failing, ...(disable ? { disabled_at: disable.at, disabled_reason: disable.reason } : {}) } },
      );
      return matchedCount === 1;
    },

    /** @returns the secrets that sign now, the current one first; empty when webhooks are not signed */
    openSecrets(record: RegistrationRecord): string[] {
      return secrets.open(record._id, record);
    },

    /** @returns the static headers of a registration */
    openHeaders({ _id, headers }: RegistrationRecord): StaticHeaders {
      return sealing.open(_id, headers);
    },

    /** @returns `max_per_second` of the registrations that have it, by organisation */
    async listRates(): Promise<Map<string, number>> {
      const rated = registrations.find({ max_per_second: { $gt: 0 } }, { hint: RATED_INDEX });
      const rates = await rated.project<{ _id: string; max_per_second: number }>({ max_per_second: 1 }).toArray();
      return new Map(rates.map(({ _id, max_per_second }) => [_id, max_per_second]));
    },
  };
}
