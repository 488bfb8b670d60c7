import { randomUUID } from 'node:crypto';
import { Binary, type ClientSession, type Collection, type MongoClient } from 'mongodb';
import { ServiceError } from '../domain/errors.js';
import { sha256Hex } from '../domain/ids.js';
import type { Sealer } from '../domain/sealing.js';
import { inTransaction, isDuplicateKey } from './transactions.js';

export interface IdempotencyRecord {
  /** Organisation, route and SHA-256 of the key. */
  _id: string;
  /** SHA-256 of the request, hex. */
  fingerprint: string;
  /** Names the claim, so that one that was lost is known as such. */
  token: string;
  lease_until: Date;
  /** Null while the request is carried out. */
  response: { status: number; headers: Record<string, string>; sealed_body: Binary } | null;
  /** When the record is removed. */
  expires_at: Date;
}

export type IdempotencyKeys = ReturnType<typeof createIdempotencyKeys>;

/** Whose key it is and where it counts: the same key on another route is another one. */
export interface IdempotencyScope {
  org: string;
  /** Method and pattern, such as `POST /databases`. */
  route: string;
  key: string;
}

/** A response as it was sent. */
export interface SavedResponse {
  status: number;
  headers: Record<string, string>;
  body: string;
}

/** The right to carry a request out; it is lost to another when its lease has run out. */
export interface IdempotencyClaim {
  id: string;
  token: string;
}

export type ClaimOutcome =
  | { state: 'claimed'; claim: IdempotencyClaim }
  | { state: 'saved'; response: SavedResponse }
  | { state: 'in progress' }
  | { state: 'another request' };

/** How long a claim holds if its process is never heard of again. */
const LEASE_MS = 60_000;

/** Idempotency keys: who carries a request out, and what was answered to it. */
export function createIdempotencyKeys(
  { idempotencyKeys, mongoClient }: { idempotencyKeys: Collection<IdempotencyRecord>; mongoClient: MongoClient },
  sealer: Sealer,
  { ttlMs, leaseMs = LEASE_MS }: { ttlMs: number; leaseMs?: number },
) {
  const context = (id: string) => `idempotency/${id}`;
  return {
    /** @param fingerprint SHA-256 of the request, by which a repeat is told from another request with the same key */
    async claim({ org, route, key }: IdempotencyScope, fingerprint: string): Promise<ClaimOutcome> {
      const id = `${org}/${route}/${sha256Hex(key)}`;
      // The record may vanish between two looks at it; each round then begins anew.
      for (;;) {
        const now = new Date();
        const fresh = {
          fingerprint,
          token: randomUUID(),
          lease_until: new Date(now.getTime() + leaseMs),
          response: null,
          expires_at: new Date(now.getTime() + ttlMs),
        };
        const claimed = { state: 'claimed', claim: { id, token: fresh.token } } as const;
        try {
          await idempotencyKeys.insertOne({ _id: id, ...fresh });
          return claimed;
        } catch (error) {
          if (!isDuplicateKey(error)) throw error;
        }
        // Expired records are removed once a minute only; and whoever held this one may have died.
        const taken = await idempotencyKeys.updateOne(
          {
            _id: id,
            $or: [{ expires_at: { $lte: now } }, { fingerprint, response: null, lease_until: { $lte: now } }],
          },
          { $set: fresh },
        );
        if (taken.matchedCount === 1) return claimed;
        const record = await idempotencyKeys.findOne({ _id: id });
        if (!record) continue;
        if (record.fingerprint !== fingerprint) return { state: 'another request' };
        if (record.response === null) return { state: 'in progress' };
        const { status, headers, sealed_body } = record.response;
        return { state: 'saved', response: { status, headers, body: sealer.open(sealed_body.value(), context(id)) } };
      }
    },

    /**
     * Runs a write and saves the response in one transaction: both happen or neither.
     * @param response read after the write
     * @throws ServiceError IDEMPOTENCY_IN_PROGRESS when another request has taken the key over; nothing is written then
     */
    saveWith<Result>(
      { id, token }: IdempotencyClaim,
      response: () => SavedResponse,
      write: (tx: ClientSession) => Promise<Result>,
    ): Promise<Result> {
      return inTransaction(mongoClient, async (tx) => {
        const result = await write(tx);
        const { status, headers, body } = response();
        // Sealed, because a response may carry secrets of its client.
        const sealed_body = new Binary(sealer.seal(body, context(id)));
        const saved = await idempotencyKeys.updateOne(
          { _id: id, token, response: null },
          { $set: { response: { status, headers, sealed_body } } },
          { session: tx },
        );
        if (saved.matchedCount === 0) throw requestInProgress();
        return result;
      });
    },

    /** Gives the key back when nothing was kept, so that the client may try again at once. */
    async release({ id, token }: IdempotencyClaim): Promise<void> {
      await idempotencyKeys.deleteOne({ _id: id, token, response: null });
    },
  };
}

export function requestInProgress(): ServiceError {
  return new ServiceError(
    'IDEMPOTENCY_IN_PROGRESS',
    'A request with this Idempotency-Key is in progress; repeat this request to get its response.',
    1,
  );
}
