import { createPrivateKey, generateKeyPair, type KeyObject } from 'node:crypto';
import { promisify } from 'node:util';
import { Binary, type Collection, type MongoClient } from 'mongodb';
import { newSigningKeyId } from '../../domain/ids.js';
import type { Sealer } from '../../domain/sealing.js';
import { isDuplicateKey } from '../transactions.js';
import type { DeliveryRecord } from '../webhooks/deliveries.js';
import type { AiJobRecord } from './jobs.js';

export interface SigningKeyRecord {
  _id: string;
  /** PEM, PKCS#8. */
  sealed_private_key: Binary;
  /** PEM, SPKI. */
  public_key: string;
  /** True of exactly one. */
  current: boolean;
  created_at: Date;
  retired_at: Date | null;
}

export type SigningKeys = ReturnType<typeof createSigningKeys>;

const MODULUS_BITS = 3072;
/** A receiver that queues what it gets may verify long after the last callback. */
const READABLE_FOR_MS = 24 * 60 * 60 * 1000;

/** The RSA keys that sign job callbacks: one current, and retired ones for as long as somebody may need them. */
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
  const context = (id: string) => `job-signing-key/${id}`;
  const opened = new Map<string, KeyObject>();

  return {
    /** The id of the key that signs new jobs; the first is made when it is first asked for. */
    async currentId(): Promise<string> {
      return (await signingKeys.findOne({ current: true }, { projection: { _id: 1 } }))?._id ?? (await makeFirst());
    },

    /** @throws Error when there is no such key, or it was sealed with another sealing key */
    async openPrivateKey(id: string): Promise<KeyObject> {
      const known = opened.get(id);
      if (known) return known;
      const record = await signingKeys.findOne({ _id: id });
      if (!record) throw new Error(`there is no signing key ${id}`);
      const key = createPrivateKey(sealer.open(record.sealed_private_key.value(), context(id)));
      opened.set(id, key);
      return key;
    },

    /** Public keys (PEM) that receivers may need: the current one first, then those that unfinished jobs are signed with. */
    async listPublicKeys(): Promise<string[]> {
      await this.currentId();
      const records = await signingKeys.find().sort({ current: -1, created_at: -1 }).toArray();
      const unsent = await unsentJobs();
      const waitedFor = await Promise.all(records.map((record) => isReadable(record, unsent)));
      return records.filter((_record, n) => waitedFor[n]).map(({ public_key }) => public_key);
    },

    /** New jobs are signed with a new key from now on. @returns its id */
    async rotate(): Promise<string> {
      await this.currentId();
      const next = await newKey();
      const retired = { $set: { current: false, retired_at: new Date() } };
      await mongoClient.withSession((session) =>
        session.withTransaction(async () => {
          await signingKeys.updateOne({ current: true }, retired, { session });
          await signingKeys.insertOne(next, { session });
        }),
      );
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

  /** Two processes may come here at once: the index lets one key in. */
  async function makeFirst(): Promise<string> {
    const key = await newKey();
    try {
      await signingKeys.insertOne(key);
      return key._id;
    } catch (error) {
      if (!isDuplicateKey(error)) throw error;
      return (await signingKeys.findOne({ current: true }))!._id;
    }
  }

  /** Jobs that have ended and whose callback is still under way. */
  async function unsentJobs(): Promise<string[]> {
    const found = await deliveries
      .find({
        event_type: 'async_job_completed',
        status: { $in: ['pending', 'sweeping', 'failed'] },
        // So that the small index of unfinished deliveries is used.
        check_at: { $gt: new Date(0) },
      })
      .project<{ doc_id: string }>({ doc_id: 1 })
      .toArray();
    return found.map(({ doc_id }) => doc_id);
  }

  async function isReadable({ _id, current, retired_at }: SigningKeyRecord, unsent: string[]): Promise<boolean> {
    if (current || retired_at === null || retired_at.getTime() > Date.now() - READABLE_FOR_MS) return true;
    if (await aiJobs.findOne({ signing_key: _id, status: { $in: ['queued', 'processing'] } })) return true;
    return (await aiJobs.findOne({ _id: { $in: unsent }, signing_key: _id })) !== null;
  }
}
