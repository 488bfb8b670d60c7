import { randomUUID } from 'node:crypto';
import type { Binary, ClientSession } from 'mongodb';
import { ServiceError } from '../domain/errors.js';
import { sha256Hex } from '../domain/ids.js';
import type { Sealer } from '../domain/sealing.js';
import type { Access } from './collections.js';
import { BY_ID } from './queries.js';
import { sealingFor } from './sealing.js';
import { inTransaction, isDuplicateKey } from './transactions.js';

export interface IdempotencyRecord {
  /** `<org>/<route>/<SHA-256 of the key>` */
  _id: string;
  org: string;
  /** SHA-256 of the request, hex. */
  fingerprint: string;
  /** Identifies the claim: a claim with another token has expired and was taken over. */
  token: string;
  lease_until: Date;
  /** Null while the request is in progress. */
  response: { status: number; headers: Record<string, string>; sealed_body: Binary } | null;
  /** When MongoDB removes the record. */
  expires_at: Date;
}

export type IdempotencyKeys = ReturnType<typeof createIdempotencyKeys>;

/** Where a key is unique: the same key on another route or of another organisation is a different key. */
export interface IdempotencyScope {
  org: string;
  /** Method and path pattern, such as `POST /databases`. */
  route: string;
  key: string;
}

/** A response as it was sent. */
export interface SavedResponse {
  status: number;
  headers: Record<string, string>;
  body: string;
}

/** The right to process a request. After its lease expires, a repeated request can take it over. */
export interface IdempotencyClaim {
  org: string;
  id: string;
  token: string;
}

/** `in progress`: the first request is being processed. `another request`: the key was used for a different request. */
export type ClaimOutcome =
  | { state: 'claimed'; claim: IdempotencyClaim }
  | { state: 'saved'; response: SavedResponse }
  | { state: 'in progress' }
  | { state: 'another request' };

/** How long a claim is valid when its process dies. */
const LEASE_MS = 60_000;

/**
 * Idempotency keys: the claim on each request, and its saved response.
 * @param times `ttlMs`: how long a response is kept; `leaseMs`: how long a claim is valid
 */
export function createIdempotencyKeys(
  { idempotencyKeys, mongoClient, now: clock }: Access<'idempotencyKeys' | 'mongoClient' | 'now'>,
  sealer: Sealer,
  { ttlMs, leaseMs = LEASE_MS }: { ttlMs: number; leaseMs?: number },
) {
  const { seal, open } = sealingFor(sealer, 'idempotency');
  return {
    /**
     * Claims the key for a request, or finds the state of an earlier request with the key.
     * @param fingerprint SHA-256 of the request, which distinguishes a repeated request from a different one
     */
    async claim({ org, route, key }: IdempotencyScope, fingerprint: string): Promise<ClaimOutcome> {
      const own = idempotencyKeys.forOrg(org);
      const id = `${org}/${route}/${sha256Hex(key)}`;
      // Repeated when the record is removed between the update and the read.
      for (;;) {
        const now = clock();
        const fresh = {
          fingerprint,
          token: randomUUID(),
          lease_until: new Date(now.getTime() + leaseMs),
          response: null,
          expires_at: new Date(now.getTime() + ttlMs),
        };
        const claimed = { state: 'claimed', claim: { org, id, token: fresh.token } } as const;
        try {
          await own.insertOne({ _id: id, org, ...fresh });
          return claimed;
        } catch (error) {
          if (!isDuplicateKey(error)) throw error;
        }
        // MongoDB removes expired records only once a minute, and the process with the claim may have died.
        const taken = await own.updateOne(
          {
            _id: id,
            $or: [{ expires_at: { $lte: now } }, { fingerprint, response: null, lease_until: { $lte: now } }],
          },
          { $set: fresh },
          BY_ID,
        );
        if (taken.matchedCount === 1) return claimed;
        const record = await own.findOne({ _id: id }, BY_ID);
        if (!record) continue;
        if (record.fingerprint !== fingerprint) return { state: 'another request' };
        if (record.response === null) return { state: 'in progress' };
        const { status, headers, sealed_body } = record.response;
        return { state: 'saved', response: { status, headers, body: open(id, sealed_body) } };
      }
    },

    /**
     * Runs a write and saves the response in one transaction: both happen or neither.
     * @param response called after the write
     * @throws ServiceError IDEMPOTENCY_IN_PROGRESS when a repeated request has taken over the claim; nothing is written then
     */
    saveWith<Result>(
      { org, id, token }: IdempotencyClaim,
      response: () => SavedResponse,
      write: (tx: ClientSession) => Promise<Result>,
    ): Promise<Result> {
      return inTransaction(mongoClient, async (tx) => {
        const result = await write(tx);
        const { status, headers, body } = response();
        // Sealed, because a response may carry secrets of its client.
        const sealed_body = seal(id, body);
        const saved = await idempotencyKeys
          .forOrg(org)
          .updateOne(
            { _id: id, token, response: null },
            { $set: { response: { status, headers, sealed_body } } },
            { session: tx, ...BY_ID },
          );
        if (saved.matchedCount === 0) throw requestInProgress();
        return result;
      });
    },

    /** Releases a key without a saved response, so that the client can repeat the request at once. */
    async release({ org, id, token }: IdempotencyClaim): Promise<void> {
      await idempotencyKeys.forOrg(org).deleteOne({ _id: id, token, response: null }, BY_ID);
    },
  };
}

/** The error for a repeated request while the first one is in progress. */
export function requestInProgress(): ServiceError {
  return new ServiceError(
    'IDEMPOTENCY_IN_PROGRESS',
    'A request with this Idempotency-Key is in progress; repeat this request to get its response.',
    { retryAfterSeconds: 1 },
  );
}
