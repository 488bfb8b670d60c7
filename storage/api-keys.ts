import type { Collection } from 'mongodb';
import { type KeyKind, keyHint, newApiKey, type Principal, SCOPES, type Scope } from '../domain/api-keys.js';
import { newKeyId, sha256Hex } from '../domain/ids.js';
import { createSharedReads } from '../domain/shared-calls.js';
import { OPERATOR } from '../domain/webhooks/operator-notices.js';
import type { DatabaseClock } from './clock.js';

export interface ApiKeyRecord {
  _id: string;
  org: string;
  kind: KeyKind;
  scopes: Scope[];
  /** Of a key of kind `crew_user`: the crews that it was made for. */
  crews?: string[];
  label: string;
  /** SHA-256 of the key, hex. The key itself is never stored. */
  hash: string;
  /** First characters of the key, so that people can recognise it in a list. */
  hint: string;
  created_at: Date;
  expires_at: Date | null;
  revoked_at: Date | null;
}

export type ApiKeys = ReturnType<typeof createApiKeys>;

/** API keys. Commands create and revoke them; every request looks one up. */
export function createApiKeys({ apiKeys, now: clock }: { apiKeys: Collection<ApiKeyRecord>; now: DatabaseClock }) {
  const findByHash = createSharedReads(
    (hash: string) => hash,
    (hash) => apiKeys.findOne({ hash }),
  );

  return {
    /**
     * @param input without `scopes` the key has all of them; without `expires_at` it does not expire
     * @returns the record and the plain key, which is not stored and cannot be read again
     * @throws Error for the reserved organisation of the operator's notices
     */
    async create(input: {
      org: string;
      kind: KeyKind;
      label: string;
      scopes?: readonly Scope[];
      crews?: readonly string[];
      expires_at?: Date | null;
    }) {
      if (input.org === OPERATOR) throw new Error(`The organisation "${OPERATOR}" is reserved for notices.`);
      const key = newApiKey(input.kind);
      const record: ApiKeyRecord = {
        _id: newKeyId(),
        org: input.org,
        kind: input.kind,
        scopes: [...(input.scopes ?? SCOPES)],
        ...(input.crews ? { crews: [...input.crews] } : {}),
        label: input.label,
        hash: sha256Hex(key),
        hint: keyHint(input.kind, key),
        created_at: clock(),
        expires_at: input.expires_at ?? null,
        revoked_at: null,
      };
      await apiKeys.insertOne(record);
      return { key, record };
    },

    /**
     * Looks the key up by its SHA-256, so that the timing reveals nothing about stored keys.
     * @returns null when the key is unknown, expired or revoked
     */
    async authenticate(key: string, now = clock()): Promise<Principal | null> {
      const record = await findByHash(sha256Hex(key));
      if (!record || record.revoked_at || (record.expires_at && record.expires_at <= now)) return null;
      const { _id: key_id, org, kind, scopes, crews } = record;
      return { key_id, org, kind, scopes, ...(crews ? { crews } : {}) };
    },

    /** Whether the key can still be used. */
    async isActive(id: string): Promise<boolean> {
      const record = await apiKeys.findOne({ _id: id, revoked_at: null });
      return record !== null && (record.expires_at === null || record.expires_at > clock());
    },

    /** @returns all keys, or those of one organisation, newest first */
    list(org?: string): Promise<ApiKeyRecord[]> {
      return apiKeys
        .find(org === undefined ? {} : { org })
        .sort({ org: 1, created_at: -1 })
        .toArray();
    },

    /** @returns false when the key does not exist or was revoked before */
    async revoke(id: string): Promise<boolean> {
      const result = await apiKeys.updateOne({ _id: id, revoked_at: null }, { $set: { revoked_at: clock() } });
      return result.modifiedCount === 1;
    },

    /** Revokes all keys of the organisation with this label. */
    async revokeLabelled(org: string, label: string): Promise<void> {
      await apiKeys.updateMany({ org, label, revoked_at: null }, { $set: { revoked_at: clock() } });
    },
  };
}
