/** The commands for keys: `postback keys`, `signing-key` and `sealing-key`. */
import type { KeyKind, Scope } from '../domain/api-keys.js';
import type { AuditAction, AuditSubject } from '../domain/audit.js';
import { keyStateOf } from '../domain/key-states.js';
import { createSealer, type Sealer } from '../domain/sealing.js';
import { createSigningKeys, type SigningKeys } from '../storage/ai-jobs/signing-keys.js';
import { type ApiKeys, createApiKeys } from '../storage/api-keys.js';
import { type Act, type Audit, createAudit } from '../storage/audit.js';
import { type Collections, connectCollections } from '../storage/collections.js';
import { resealAll } from '../storage/sealed-fields.js';
import { withCollections } from './connections.js';
import { existingSealingKey } from './data-folder.js';
import { print, table } from './remote/output.js';

interface Output {
  /** Print JSON. */
  json?: boolean;
}

interface NewKeyOptions extends Output {
  org: string;
  kind: KeyKind;
  label: string;
  scopes: Scope[];
  /** Names of crews. */
  crew?: string[];
  expires: Date | 'never';
}

/** What an operator does in an organisation on the command line, for the audit log. */
function commandAct(org: string, action: AuditAction, subject: AuditSubject): Act {
  return { org, action, subject, actor: { type: 'command_line' }, address: null, request_id: null };
}

/** `postback keys create`: creates a key and prints it. The key cannot be shown again. */
export async function createKey({ expires, json, crew, ...options }: NewKeyOptions): Promise<void> {
  if (crew && options.kind !== 'crew_user') throw new Error('--crew is for keys of kind crew_user');
  await withKeys(async ({ keys, audit }) => {
    const { org: of, label } = options;
    const { key, record } = await audit.record(commandAct(of, 'key.created', { name: label }), async () => {
      const expiry = expires === 'never' ? null : expires;
      const result = await keys.create({ ...options, ...(crew ? { crews: crew } : {}), expires_at: expiry });
      return { result, subject: { id: result.record._id } };
    });
    const { _id: id, org, kind, scopes, expires_at } = record;
    print({ json }, { id, org, kind, scopes, expires_at, key }, () => `${id}  ${kind}  ${org}\n${key}`);
    console.error(`Scopes: ${record.scopes.join(', ')}. Expires: ${record.expires_at?.toISOString() ?? 'never'}.`);
    console.error('Store this key now: only its hash is kept, so it cannot be shown again.');
  });
}

/** `postback keys list`: lists all keys, or those of an organisation. */
export async function listKeys({ org, json }: Output & { org?: string }): Promise<void> {
  await withKeys(async ({ keys }) => {
    const now = new Date();
    const listed = (await keys.list(org)).map((key) => ({
      id: key._id,
      org: key.org,
      kind: key.kind,
      scopes: key.scopes.join(' '),
      key: key.hint,
      label: key.label,
      created: key.created_at.toISOString(),
      expires: key.expires_at?.toISOString() ?? 'never',
      used: key.last_used_at?.toISOString() ?? 'never',
      state: keyStateOf(key, now),
    }));
    print({ json }, { keys: listed }, () => table(listed));
  });
}

/** @throws Error when there is no such key, or it is revoked already */
export async function revokeKey(id: string, { json }: Output): Promise<void> {
  await withKeys(async ({ keys, audit }) => {
    const key = await keys.find(id);
    if (!key || key.revoked_at) throw new Error(`there is no active key ${id}`);
    const act = commandAct(key.org, 'key.revoked', { id, name: key.label });
    await audit.record(act, async () => ({ result: await keys.revoke(id) }));
    print({ json }, { id, state: 'revoked' }, () => `${id} is revoked.`);
  });
}

function withKeys(work: (stores: { keys: ApiKeys; audit: Audit }) => Promise<void>): Promise<void> {
  return withCollections((collections) => work({ keys: createApiKeys(collections), audit: createAudit(collections) }));
}

/** `postback signing-key show`: prints the public keys (PEM) that an organisation's receivers may need. */
export async function showSigningKeys({ org, json }: Output & { org: string }): Promise<void> {
  await withSigningKeys(async (keys) => {
    const listed = await keys.listPublicKeys(org);
    if (json) console.log(JSON.stringify({ org, public_keys: listed }, null, 2));
    else process.stdout.write(listed.join(''));
  });
}

/** `postback signing-key rotate`: creates a key for an organisation's new jobs; its running jobs use the old key. */
export async function rotateSigningKey({ org, json }: Output & { org: string }): Promise<void> {
  await withSigningKeys(async (keys, audit) => {
    const act = commandAct(org, 'signing_key.rotated', { name: 'AI jobs' });
    const id = await audit.record(act, async () => {
      const result = await keys.rotate(org);
      return { result, subject: { id: result } };
    });
    print({ json }, { org, signing_key: id }, () => `${id} signs new jobs of ${org}.`);
    console.error(
      'Receivers must read GET /v3/ai/webhook-public-key again. It lists the old key for as long as it is needed.',
    );
  });
}

/** `postback sealing-key rotate`: seals every stored secret with the first key of POSTBACK_SEALING_KEY. */
export async function rotateSealingKey({ json }: Output): Promise<void> {
  await withSecrets(async ({ db }, sealer) => {
    const { resealed, unreadable } = await resealAll(db, sealer);
    const lost = Object.entries(unreadable).map(([collection, count]) => `${count} in ${collection}`);
    const { keyId } = sealer;
    print({ json }, { resealed, sealing_key: keyId, unreadable }, () => {
      const done = `${resealed} values were sealed again with the key ${keyId}.`;
      if (lost.length > 0) return done;
      return `${done}\nEvery stored secret is sealed with this key. The other keys are not needed any more.`;
    });
    if (lost.length > 0) {
      throw new Error(
        `values that no key of POSTBACK_SEALING_KEY opens: ${lost.join(', ')}. Add their key and repeat.`,
      );
    }
  });
}

async function withSigningKeys(work: (keys: SigningKeys, audit: Audit) => Promise<unknown>): Promise<void> {
  await withSecrets((collections, sealer) => work(createSigningKeys(collections, sealer), createAudit(collections)));
}

async function withSecrets(work: (collections: Collections, sealer: Sealer) => Promise<unknown>): Promise<void> {
  await withCollections(async (collections, config) => {
    const key = existingSealingKey(config);
    // The processes that must open what this command seals would not know a key that was made here.
    if (key === null) throw new Error("POSTBACK_SEALING_KEY is not set: this command needs the service's key.");
    return work(collections, createSealer(key));
  }, connectCollections);
}
