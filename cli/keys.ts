import type { KeyKind, Scope } from '../domain/api-keys.js';
import { type ApiKeys, createApiKeys } from '../storage/api-keys.js';
import { openCollections } from '../storage/collections.js';
import { runningSettings } from './data-folder.js';

interface NewKeyOptions {
  org: string;
  kind: KeyKind;
  label: string;
  scopes: Scope[];
  expires: Date | 'never';
}

/** `postback keys create`: creates a key and prints it. The key cannot be shown again. */
export async function createKey({ expires, ...options }: NewKeyOptions): Promise<void> {
  await withKeys(async (keys) => {
    const { key, record } = await keys.create({ ...options, expires_at: expires === 'never' ? null : expires });
    console.log(`${record._id}  ${record.kind}  ${record.org}`);
    console.log(key);
    console.error(`Scopes: ${record.scopes.join(', ')}. Expires: ${record.expires_at?.toISOString() ?? 'never'}.`);
    console.error('Store this key now: only its hash is kept, so it cannot be shown again.');
  });
}

/** @param org lists the keys of this organisation only */
export async function listKeys(org?: string): Promise<void> {
  await withKeys(async (keys) => {
    const now = new Date();
    const rows = (await keys.list(org)).map((key) => ({
      id: key._id,
      org: key.org,
      kind: key.kind,
      scopes: key.scopes.join(' '),
      key: key.hint,
      label: key.label,
      created: key.created_at.toISOString(),
      expires: key.expires_at?.toISOString() ?? 'never',
      state: key.revoked_at ? 'revoked' : key.expires_at && key.expires_at <= now ? 'expired' : 'active',
    }));
    if (rows.length === 0) console.log('No keys.');
    else console.table(rows);
  });
}

/** @throws Error when there is no such key, or it is revoked already */
export async function revokeKey(id: string): Promise<void> {
  await withKeys(async (keys) => {
    if (!(await keys.revoke(id))) throw new Error(`there is no active key ${id}`);
    console.log(`${id} is revoked.`);
  });
}

async function withKeys(work: (keys: ApiKeys) => Promise<void>): Promise<void> {
  const collections = await openCollections(runningSettings(process.env).MONGODB_URI, 'postback-cli');
  try {
    await work(createApiKeys(collections));
  } finally {
    await collections.mongoClient.close();
  }
}
