import type { Collection } from 'mongodb';
import { type KeyKind, keyHint, newApiKey, type Principal } from '../domain/api-keys.js';
import { newKeyId, sha256Hex } from '../domain/ids.js';

export interface ApiKeyRecord {
  _id: string;
  org: string;
  kind: KeyKind;
  label: string;
  /** SHA-256 of the key, hex. The key itself is never stored. */
  hash: string;
  /** First characters of the key, for people who compare lists. */
  hint: string;
  created_at: Date;
  expires_at: Date | null;
  revoked_at: Date | null;
}

export type ApiKeys = ReturnType<typeof createApiKeys>;

/** API keys: made and revoked on the command line, looked up by every request. */
export function createApiKeys({ apiKeys }: { apiKeys: Collection<ApiKeyRecord> }) {
  return {
    /** @returns the record and the key itself, which is in no other place and cannot be read again */
    async create(input: { org: string; kind: KeyKind; label: string; expires_at?: Date | null }) {
      const key = newApiKey(input.kind);
      const record: ApiKeyRecord = {
        _id: newKeyId(),
        org: input.org,
        kind: input.kind,
        label: input.label,
        hash: sha256Hex(key),
        hint: keyHint(input.kind, key),
        created_at: new Date(),
        expires_at: input.expires_at ?? null,
        revoked_at: null,
      };
      await apiKeys.insertOne(record);
      return { key, record };
    },

    /**
     * The look-up goes by the key's SHA-256, so its timing tells nothing about a stored key.
     * @returns null for a key that is unknown, expired or revoked
     */
    async authenticate(key: string, now = new Date()): Promise<Principal | null> {
      const record = await apiKeys.findOne({ hash: sha256Hex(key) });
      if (!record || record.revoked_at || (record.expires_at && record.expires_at <= now)) return null;
      return { key_id: record._id, org: record.org, kind: record.kind };
    },

    list(org?: string): Promise<ApiKeyRecord[]> {
      return apiKeys
        .find(org === undefined ? {} : { org })
        .sort({ org: 1, created_at: -1 })
        .toArray();
    },

    /** @returns false when there is no such key, or it was revoked before */
    async revoke(id: string): Promise<boolean> {
      const result = await apiKeys.updateOne({ _id: id, revoked_at: null }, { $set: { revoked_at: new Date() } });
      return result.modifiedCount === 1;
    },

    async revokeLabelled(org: string, label: string): Promise<void> {
      await apiKeys.updateMany({ org, label, revoked_at: null }, { $set: { revoked_at: new Date() } });
    },
  };
}
