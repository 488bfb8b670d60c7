import { createPrivateKey, generateKeyPair, type KeyObject } from 'node:crypto';
import { promisify } from 'node:util';
import { Binary, type Collection, type MongoClient } from 'mongodb';
import { newSigningKeyId } from '../../domain/ids.js';
import type { SealedContext, Sealer } from '../../domain/sealing.js';
import { inTransaction, isDuplicateKey } from '../transactions.js';
import type { DeliveryRecord } from '../webhooks/deliveries.js';
import type { AiJobRecord } from './jobs.js';

export interface SigningKeyRecord {
  _id: string;
  /** PEM, PKCS#8. */
  sealed_private_key: Binary;
  /** PEM, SPKI. */
  public_key: string;
  /** True for exactly one key. */
  current: boolean;
  created_at: Date;
  retired_at: Date | null;
}

export type SigningKeys = ReturnType<typeof createSigningKeys>;

const MODULUS_BITS = 3072;
/** How long a retired key stays public: a receiver with a queue may verify a callback long after it arrived. */
const PUBLIC_FOR_MS = 24 * 60 * 60 * 1000;

/** The RSA keys that sign job callbacks: the current key, and retired keys while receivers may need them. */
export function createSigningKeys(
  {
    mongoClient,
    signingKeys,
    aiJobs,
    deliveries,
  }: {
    mongoClient: MongoClient;
    signingKeys: Collection<SigningKeyRecord>;
    aiJobs: Collection<AiJobRecord>;
    deliveries: Collection<DeliveryRecord>;
  },
  sealer: Sealer,
) {
  const context = (id: string): SealedContext => `job-signing-key/${id}`;
  const opened = new Map<string, KeyObject>();

  return {
    /** @returns the id of the key that signs callbacks of new jobs; creates the first key */
    async currentId(): Promise<string> {
      return (await signingKeys.findOne({ current: true }, { projection: { _id: 1 } }))?._id ?? (await createFirst());
    },

    /** @throws Error when the key does not exist or was sealed with another sealing key */
    async openPrivateKey(id: string): Promise<KeyObject> {
      const cached = opened.get(id);
      if (cached) return cached;
      const record = await signingKeys.findOne({ _id: id });
      if (!record) throw new Error(`there is no signing key ${id}`);
      const key = createPrivateKey(sealer.open(record.sealed_private_key.value(), context(id)));
      opened.set(id, key);
      return key;
    },

    /** @returns the public keys (PEM) that receivers may need: the current key, then retired keys, newest first */
    async listPublicKeys(): Promise<string[]> {
      await this.currentId();
      const records = await signingKeys.find().sort({ current: -1, created_at: -1 }).toArray();
      const unsent = await unsentJobs();
      const needed = await Promise.all(records.map((record) => isNeeded(record, unsent)));
      return records.filter((_record, n) => needed[n]).map(({ public_key }) => public_key);
    },

    /** Creates a key for new jobs and retires the current one. @returns the new key's id */
    async rotate(): Promise<string> {
      await this.currentId();
      const next = await newKey();
      const retired = { $set: { current: false, retired_at: new Date() } };
      await inTransaction(mongoClient, async (tx) => {
        await signingKeys.updateOne({ current: true }, retired, { session: tx });
        await signingKeys.insertOne(next, { session: tx });
      });
      return next._id;
    },
  };

  async function newKey(): Promise<SigningKeyRecord> {
    const { privateKey, publicKey } = await promisify(generateKeyPair)('rsa', { modulusLength: MODULUS_BITS });
    const _id = newSigningKeyId();
    const pem = privateKey.export({ type: 'pkcs8', format: 'pem' }) as string;
    return {
      _id,
      sealed_private_key: new Binary(sealer.seal(pem, context(_id))),
      public_key: publicKey.export({ type: 'spki', format: 'pem' }) as string,
      current: true,
      created_at: new Date(),
      retired_at: null,
    };
  }

  /** When two processes create a key at once, the unique index admits one. */
  async function createFirst(): Promise<string> {
    const key = await newKey();
    try {
      await signingKeys.insertOne(key);
      return key._id;
    } catch (error) {
      if (!isDuplicateKey(error)) throw error;
      return (await signingKeys.findOne({ current: true }))!._id;
    }
  }

  /** @returns ids of finished jobs whose callback has not been delivered yet */
  async function unsentJobs(): Promise<string[]> {
    const found = await deliveries
      .find({
        event_type: 'async_job_completed',
        status: { $in: ['pending', 'sweeping', 'failed'] },
        // Matches every record, so that MongoDB uses the partial index of unfinished deliveries.
        check_at: { $gt: new Date(0) },
      })
      .project<{ doc_id: string }>({ doc_id: 1 })
      .toArray();
    return found.map(({ doc_id }) => doc_id);
  }

  /** Whether the key was retired a short time ago, or a callback signed with it may still be sent. */
  async function isNeeded({ _id, current, retired_at }: SigningKeyRecord, unsent: string[]): Promise<boolean> {
    if (current || retired_at === null || retired_at.getTime() > Date.now() - PUBLIC_FOR_MS) return true;
    if (await aiJobs.findOne({ signing_key: _id, status: { $in: ['queued', 'processing'] } })) return true;
    return (await aiJobs.findOne({ _id: { $in: unsent }, signing_key: _id })) !== null;
  }
}
