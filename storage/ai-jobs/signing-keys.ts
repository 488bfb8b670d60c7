import { createPrivateKey, generateKeyPair, type KeyObject } from 'node:crypto';
import { promisify } from 'node:util';
import { LRUCache } from 'lru-cache';
import type { Binary } from 'mongodb';
import { UNFINISHED_JOB_STATUSES } from '../../domain/ai-jobs/states.js';
import { newSigningKeyId } from '../../domain/ids.js';
import type { Sealer } from '../../domain/sealing.js';
import { UNFINISHED_DELIVERY_STATES } from '../../domain/webhooks/states.js';
import type { Access } from '../collections.js';
import { sealingFor } from '../sealing.js';
import { inTransaction, isDuplicateKey } from '../transactions.js';

export interface SigningKeyRecord {
  _id: string;
  org: string;
  /** PEM, PKCS#8. */
  sealed_private_key: Binary;
  /** PEM, SPKI. */
  public_key: string;
  /** True for exactly one key of an organisation. */
  current: boolean;
  created_at: Date;
  retired_at: Date | null;
}

export type SigningKeys = ReturnType<typeof createSigningKeys>;

const MODULUS_BITS = 3072;
/** How long a retired key stays public: a receiver with a queue may verify a callback long after it arrived. */
const PUBLIC_FOR_MS = 24 * 60 * 60 * 1000;
/** Private keys that this process keeps in memory, unsealed. */
const MAX_OPENED = 1_000;

/**
 * The RSA keys that sign job callbacks. Each organisation has its own keys, because it chooses the content of its callbacks: the
 * current key, and retired keys while receivers may need them.
 */
export function createSigningKeys(
  {
    mongoClient,
    signingKeys,
    aiJobs,
    deliveries,
    now,
  }: Access<'mongoClient' | 'signingKeys' | 'aiJobs' | 'deliveries' | 'now'>,
  sealer: Sealer,
) {
  const { seal, open } = sealingFor(sealer, 'job-signing-key');
  const opened = new LRUCache<string, KeyObject>({ max: MAX_OPENED });
  /** First keys that this process creates now, by organisation. */
  const creating = new Map<string, Promise<string>>();
  let lastGenerated: Promise<unknown> = Promise.resolve();

  return {
    /** @returns the id of the key that signs callbacks of new jobs; creates the organisation's first key */
    async currentId(org: string): Promise<string> {
      return (await findCurrent(org)) ?? (await createFirst(org));
    },

    /** @throws Error when the organisation has no such key or it was sealed with another sealing key */
    async openPrivateKey(org: string, id: string): Promise<KeyObject> {
      const cached = opened.get(`${org}/${id}`);
      if (cached) return cached;
      const record = await signingKeys.forOrg(org).findOne({ _id: id });
      if (!record) throw new Error(`there is no signing key ${id}`);
      const key = createPrivateKey(open(id, record.sealed_private_key));
      opened.set(`${org}/${id}`, key);
      return key;
    },

    /** @returns the public keys (PEM) that receivers may need: the current key, then retired keys, newest first */
    async listPublicKeys(org: string): Promise<string[]> {
      await this.currentId(org);
      const records = await signingKeys.forOrg(org).find({}).sort({ current: -1, created_at: -1 }).toArray();
      const needed = await Promise.all(records.map(isNeeded));
      return records.filter((_record, n) => needed[n]).map(({ public_key }) => public_key);
    },

    /** @returns the public key (PEM) with this id; null when there is none, or it is not needed any more */
    async findPublicKey(org: string, id: string): Promise<string | null> {
      const record = await signingKeys.forOrg(org).findOne({ _id: id });
      return record && (await isNeeded(record)) ? record.public_key : null;
    },

    /** Creates a key for the organisation's new jobs and retires the current one. @returns the new key's id */
    async rotate(org: string): Promise<string> {
      const next = await newKey(org);
      const retired = { $set: { current: false, retired_at: now() } };
      await inTransaction(mongoClient, async (tx) => {
        await signingKeys.forOrg(org).updateOne({ current: true }, retired, { session: tx });
        await signingKeys.forOrg(org).insertOne(next, { session: tx });
      });
      return next._id;
    },
  };

  async function findCurrent(org: string): Promise<string | undefined> {
    return (await signingKeys.forOrg(org).findOne({ current: true }, { projection: { _id: 1 } }))?._id;
  }

  /** Requests that need the first key at once wait for the same one. */
  function createFirst(org: string): Promise<string> {
    const running = creating.get(org) ?? insertFirst(org).finally(() => creating.delete(org));
    creating.set(org, running);
    return running;
  }

  /** When two processes create a key at once, the unique index admits one. */
  async function insertFirst(org: string): Promise<string> {
    const key = await newKey(org);
    try {
      await signingKeys.forOrg(org).insertOne(key);
      return key._id;
    } catch (error) {
      if (!isDuplicateKey(error)) throw error;
      return (await findCurrent(org))!;
    }
  }

  async function newKey(org: string): Promise<SigningKeyRecord> {
    const { privateKey, publicKey } = await generateInTurn();
    const _id = newSigningKeyId();
    const pem = privateKey.export({ type: 'pkcs8', format: 'pem' }) as string;
    return {
      _id,
      org,
      sealed_private_key: seal(_id, pem),
      public_key: publicKey.export({ type: 'spki', format: 'pem' }) as string,
      current: true,
      created_at: now(),
      retired_at: null,
    };
  }

  /** One pair at a time: each occupies a thread of libuv's small pool, which files and DNS need too, for half a second. */
  function generateInTurn() {
    const generate = () => promisify(generateKeyPair)('rsa', { modulusLength: MODULUS_BITS });
    const generated = lastGenerated.then(generate, generate);
    lastGenerated = generated;
    return generated;
  }

  /** Whether the key was retired a short time ago, or a callback signed with it may still be sent. */
  async function isNeeded({ _id, org, current, retired_at }: SigningKeyRecord): Promise<boolean> {
    if (current || retired_at === null || retired_at.getTime() > now().getTime() - PUBLIC_FOR_MS) return true;
    // Two look-ups in indexes that hold unfinished work only.
    const projection = { _id: 1 } as const;
    const unfinished = { signing_key: _id, status: { $in: UNFINISHED_JOB_STATUSES } };
    if (await aiJobs.forOrg(org).findOne(unfinished, { projection })) return true;
    const unsent = {
      signing_key: _id,
      status: { $in: UNFINISHED_DELIVERY_STATES },
    };
    return (await deliveries.forOrg(org).findOne(unsent, { projection })) !== null;
  }
}
