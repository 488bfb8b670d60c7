import type { Binary, ClientSession, Document } from 'mongodb';
import { newSigningSecret } from '../../domain/ids.js';
import type { SealedPurpose, Sealer } from '../../domain/sealing.js';
import { DAY_MS } from '../../domain/webhooks/delivery-policy.js';
import type { DatabaseClock } from '../clock.js';
import type { Access } from '../collections.js';
import { sealingFor } from '../sealing.js';

/** The fields of a record that has a signing secret. */
export interface SigningSecretFields {
  sealed_secret: Binary | null;
  /** Secrets that were replaced a short time ago, newest first. */
  previous_secrets?: PreviousSecret[];
}

interface PreviousSecret {
  sealed_secret: Binary;
  /** Until when it still signs. */
  until: Date;
}

/** How long a replaced secret signs beside its successor, so that receivers can change over. */
const OVERLAP_MS = DAY_MS;
/** Replaced secrets that still sign: each makes every request longer. */
const MAX_PREVIOUS_SECRETS = 4;

export const NO_SECRETS = { sealed_secret: null, previous_secrets: [] } satisfies SigningSecretFields;

/** Seals and opens the signing secrets of organisations. */
export function createSecretSealing(now: DatabaseClock, sealer: Sealer, purpose: SealedPurpose) {
  const { seal, open } = sealingFor(sealer, purpose);
  const tryOpen = (org: string, sealed: Binary) => {
    try {
      return open(org, sealed);
    } catch {
      return null;
    }
  };

  return {
    seal,

    /**
     * The fields of an update (a pipeline's `$set`) that make `secret` the current one. A secret that is set again is
     * not replaced; one that no sealing key opens any more is dropped.
     * @param stored the record as it was read
     */
    replacing(org: string, stored: SigningSecretFields | null, secret: string): Document {
      const sealed_secret = seal(org, secret);
      if (stored?.sealed_secret) {
        const current = tryOpen(org, stored.sealed_secret);
        if (current === secret) return {};
        if (current === null) return { ...NO_SECRETS, sealed_secret };
      }
      const hasSecret = { $ne: [{ $ifNull: ['$sealed_secret', null] }, null] };
      const replaced = { sealed_secret: '$sealed_secret', until: new Date(now().getTime() + OVERLAP_MS) };
      const earlier = {
        $filter: { input: { $ifNull: ['$previous_secrets', []] }, cond: { $gt: ['$$this.until', now()] } },
      };
      const previous = { $concatArrays: [{ $cond: [hasSecret, [replaced], []] }, earlier] };
      return {
        sealed_secret,
        previous_secrets: { $slice: [previous, MAX_PREVIOUS_SECRETS] },
      };
    },

    /** @returns the plain secrets that sign now, the current one first; empty when there is no secret */
    open(org: string, { sealed_secret, previous_secrets = [] }: SigningSecretFields): string[] {
      if (sealed_secret === null) return [];
      const time = now();
      const previous = previous_secrets.filter(({ until }) => until > time);
      const sealed = [sealed_secret, ...previous.map((secret) => secret.sealed_secret)];
      return [...new Set(sealed.map((value) => open(org, value)))];
    },
  };
}

/** The signing secret of an organisation for the callbacks of one service. */
export interface OrganisationSecretRecord extends SigningSecretFields {
  /** The organisation. */
  _id: string;
  updated_at: Date;
}

/** A secret that is not stored yet. */
export interface FirstSecret {
  secret: string;
  add(tx: ClientSession): Promise<void>;
}

export type OrganisationSecrets = ReturnType<typeof createOrganisationSecrets>;

/** The secrets with which organisations' callbacks of one service are signed, apart from those of other services. */
export function createOrganisationSecrets(
  collections: Access<'crewSigningSecrets' | 'paymentSigningSecrets' | 'now'>,
  sealer: Sealer,
  service: 'crew' | 'payment',
) {
  const { [`${service}SigningSecrets` as const]: collection, now } = collections;
  const secrets = createSecretSealing(now, sealer, `${service}-signing-secret`);
  return {
    /**
     * Generates a secret for an organisation without one.
     * @returns the secret, and a write that stores it; null when there is one. The write fails with a duplicate key when another request
     * has stored one meanwhile
     */
    async prepareFirst(org: string): Promise<FirstSecret | null> {
      if (await collection.findOne({ _id: org }, { projection: { _id: 1 } })) return null;
      const secret = newSigningSecret();
      const sealed_secret = secrets.seal(org, secret);
      return {
        secret,
        async add(tx) {
          await collection.insertOne({ ...NO_SECRETS, _id: org, sealed_secret, updated_at: now() }, { session: tx });
        },
      };
    },

    /** Replaces the secret; the replaced one signs beside it for a day. */
    async set(org: string, secret: string): Promise<void> {
      const stored = await collection.findOne({ _id: org });
      const fields = secrets.replacing(org, stored, secret);
      await collection.updateOne({ _id: org }, [{ $set: { ...fields, updated_at: now() } }], { upsert: true });
    },

    /** @returns the secrets that sign now, the current one first; empty when callbacks are not signed */
    async listOpen(org: string): Promise<string[]> {
      const stored = await collection.findOne({ _id: org });
      return stored ? secrets.open(org, stored) : [];
    },

    /** Callbacks are unsigned afterwards. @returns false when there was no secret */
    async remove(org: string): Promise<boolean> {
      return (await collection.deleteOne({ _id: org })).deletedCount === 1;
    },
  };
}
