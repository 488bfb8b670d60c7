import type { ClientSession, Filter } from 'mongodb';
import { type KeyKind, keyHint, newApiKey, type Principal, SCOPES, type Scope } from '../domain/api-keys.js';
import { ServiceError } from '../domain/errors.js';
import { newKeyId, sha256Hex } from '../domain/ids.js';
import { type KeyState, keyStateOf } from '../domain/key-states.js';
import { createSharedReads } from '../domain/shared-calls.js';
import { OPERATOR } from '../domain/webhooks/operator-notices.js';
import type { Access } from './collections.js';
import { createKeyUses } from './key-uses.js';
import { newestFirst, type PageQuery } from './queries.js';
import { inTransaction } from './transactions.js';

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
  /** The key that asked for this one; null or absent: an operator made it. */
  created_by?: string | null;
  created_at: Date;
  expires_at: Date | null;
  revoked_at: Date | null;
  /** Up to a minute old; null or absent: it was never used. */
  last_used_at?: Date | null;
  /** When another key was revoked because this one remains. */
  kept_at?: Date;
}

/** Which keys of an organisation are listed. */
export interface KeyFilter {
  kind?: KeyKind | undefined;
  state?: KeyState | undefined;
  /** Keys that this crew takes. */
  crew?: string | undefined;
}

export interface NewKey {
  org: string;
  kind: KeyKind;
  label: string;
  /** Absent: all of them. */
  scopes?: readonly Scope[];
  crews?: readonly string[] | undefined;
  /** Absent or null: it does not expire. */
  expires_at?: Date | null;
  created_by?: string | null;
}

export type ApiKeys = ReturnType<typeof createApiKeys>;

/** API keys. Clients with the scope `admin` and commands create and revoke them; every request looks one up. */
export function createApiKeys({ mongoClient, apiKeys, now: clock }: Access<'mongoClient' | 'apiKeys' | 'now'>) {
  const noteUse = createKeyUses(apiKeys, clock);
  const findByHash = createSharedReads(
    (hash: string) => hash,
    (hash) => apiKeys.findOne({ hash }),
  );

  return {
    /**
     * @returns the record and the plain key, which is not stored and cannot be read again
     * @throws Error for the reserved organisation of the operator's notices
     */
    async create(input: NewKey, tx?: ClientSession) {
      if (input.org === OPERATOR) throw new Error(`The organisation "${OPERATOR}" is reserved for notices.`);
      const key = newApiKey(input.kind);
      const record: ApiKeyRecord = {
        _id: newKeyId(),
        org: input.org,
        kind: input.kind,
        scopes: [...new Set(input.scopes ?? SCOPES)],
        ...(input.crews ? { crews: [...input.crews] } : {}),
        label: input.label,
        hash: sha256Hex(key),
        hint: keyHint(input.kind, key),
        created_by: input.created_by ?? null,
        created_at: clock(),
        expires_at: input.expires_at ?? null,
        revoked_at: null,
        last_used_at: null,
      };
      await apiKeys.insertOne(record, { session: tx });
      return { key, record };
    },

    /**
     * Looks the key up by its SHA-256, so that the timing reveals nothing about stored keys.
     * @returns null when the key is unknown, expired or revoked
     */
    async authenticate(key: string, now = clock()): Promise<Principal | null> {
      const record = await findByHash(sha256Hex(key));
      if (!record || record.revoked_at || (record.expires_at && record.expires_at <= now)) return null;
      noteUse(record);
      const { _id: key_id, org, label, kind, scopes, crews } = record;
      return { key_id, org, label, kind, scopes, ...(crews ? { crews } : {}) };
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
        .sort({ org: 1, _id: -1 })
        .toArray();
    },

    /** @returns one page of the organisation's keys, newest first */
    listForOrg(org: string, { kind, state, crew }: KeyFilter, page: PageQuery): Promise<ApiKeyRecord[]> {
      const filter = {
        $and: [{ org, kind }, state ? inState(state, clock()) : {}, crew === undefined ? {} : takenBy(crew)],
      };
      return newestFirst(apiKeys, filter, page).toArray();
    },

    /** @returns null when the organisation has no such key */
    findForOrg(org: string, id: string): Promise<ApiKeyRecord | null> {
      return apiKeys.findOne({ _id: id, org });
    },

    /** For operators. @returns null when the key does not exist */
    find(id: string): Promise<ApiKeyRecord | null> {
      return apiKeys.findOne({ _id: id });
    },

    /** For operators. @returns null when the key does not exist or was revoked before */
    revoke(id: string): Promise<ApiKeyRecord | null> {
      return markRevoked({ _id: id });
    },

    /**
     * Revokes a key of the organisation. A key that was revoked before stays as it is.
     * @returns null when the organisation has no such key
     * @throws ServiceError LAST_ADMIN_KEY when nobody of the organisation could manage its keys any more
     */
    async revokeForOrg(org: string, id: string): Promise<ApiKeyRecord | null> {
      return inTransaction(mongoClient, async (tx) => {
        const key = await apiKeys.findOne({ _id: id, org }, { session: tx });
        if (!key || key.revoked_at) return key;
        if (isAdmin(key, clock())) await keepAnotherAdmin(key, tx);
        return markRevoked({ _id: id, org }, tx);
      });
    },

    /** Revokes all keys of the organisation with this label. */
    async revokeLabelled(org: string, label: string): Promise<void> {
      await apiKeys.updateMany({ org, label, revoked_at: null }, { $set: { revoked_at: clock() } });
    },
  };

  /** @throws ServiceError LAST_ADMIN_KEY */
  async function keepAnotherAdmin({ _id, org }: ApiKeyRecord, session: ClientSession): Promise<void> {
    const now = clock();
    // Written, so that of two requests that revoke each other's key the second sees what the first has done.
    const { matchedCount } = await apiKeys.updateOne(
      { org, ...ADMIN, ...inState('active', now), _id: { $ne: _id } },
      { $set: { kept_at: now } },
      { session },
    );
    if (matchedCount === 1) return;
    throw new ServiceError(
      'LAST_ADMIN_KEY',
      'This is the last active key of kind api with the scope admin. Create another one first.',
    );
  }

  function markRevoked(filter: Filter<ApiKeyRecord>, session?: ClientSession): Promise<ApiKeyRecord | null> {
    const set = { $set: { revoked_at: clock() } };
    return apiKeys.findOneAndUpdate({ ...filter, revoked_at: null }, set, { session, returnDocument: 'after' });
  }
}

/** Keys with which keys are managed. */
const ADMIN = { kind: 'api', scopes: 'admin' } as const;

function isAdmin(key: ApiKeyRecord, now: Date): boolean {
  return key.kind === ADMIN.kind && key.scopes.includes(ADMIN.scopes) && keyStateOf(key, now) === 'active';
}

/** The same as `keyStateOf` says. */
function inState(state: KeyState, now: Date): Filter<ApiKeyRecord> {
  if (state === 'revoked') return { revoked_at: { $ne: null } };
  const expiry = state === 'expired' ? { expires_at: { $lte: now } } : { expires_at: { $not: { $lte: now } } };
  return { revoked_at: null, ...expiry };
}

/** Keys of the organisation, and those of users that are for this crew or for none in particular. */
function takenBy(crew: string): Filter<ApiKeyRecord> {
  return {
    $or: [{ kind: 'crew_org' }, { kind: 'crew_user', $or: [{ crews: crew }, { crews: { $exists: false } }] }],
  };
}
