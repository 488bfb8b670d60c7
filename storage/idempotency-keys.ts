import { randomUUID } from 'node:crypto';
import { Binary, type ClientSession } from 'mongodb';
import { ServiceError } from '../domain/errors.js';
import { sha256Hex } from '../domain/ids.js';
import type { Sealer } from '../domain/sealing.js';
import { isDuplicateKey, type Mongo } from './mongo.js';

export type IdempotencyKeys = ReturnType<typeof createIdempotencyKeys>;

/** Whose key it is and where it counts: the same key on another route is another one. */
export interface IdempotencyScope {
  org: string;
  /** Method and pattern, such as `POST /databases`. */
  route: string;
  key: string;
}

/** An answer as it was sent. */
export interface KeptAnswer {
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
  | { state: 'answered'; answer: KeptAnswer }
  | { state: 'under way' }
  | { state: 'another request' };

/** How long a claim holds if its process is never heard of again. */
const LEASE_MS = 60_000;

/** Idempotency keys: who carries a request out, and what was answered to it. */
export function createIdempotencyKeys(
  { idempotencyKeys }: Mongo,
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
          answer: null,
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
            $or: [{ expires_at: { $lte: now } }, { fingerprint, answer: null, lease_until: { $lte: now } }],
          },
          { $set: fresh },
        );
        if (taken.matchedCount === 1) return claimed;
        const record = await idempotencyKeys.findOne({ _id: id });
        if (!record) continue;
        if (record.fingerprint !== fingerprint) return { state: 'another request' };
        if (record.answer === null) return { state: 'under way' };
        const { status, headers, sealed_body } = record.answer;
        return { state: 'answered', answer: { status, headers, body: sealer.open(sealed_body.value(), context(id)) } };
      }
    },

    /**
     * Keeps the answer, best in the transaction that does the work: then both happen or neither.
     * @throws ServiceError IDEMPOTENCY_IN_PROGRESS when another request has taken the key over; a transaction ends with it
     */
    async keep({ id, token }: IdempotencyClaim, answer: KeptAnswer, session?: ClientSession): Promise<void> {
      const { status, headers, body } = answer;
      // Sealed, because an answer may carry what its client alone may know.
      const sealed_body = new Binary(sealer.seal(body, context(id)));
      const kept = await idempotencyKeys.updateOne(
        { _id: id, token, answer: null },
        { $set: { answer: { status, headers, sealed_body } } },
        { session },
      );
      if (kept.matchedCount === 0) throw requestUnderWay();
    },

    /** Gives the key back when nothing was kept, so that the client may try again at once. */
    async release({ id, token }: IdempotencyClaim): Promise<void> {
      await idempotencyKeys.deleteOne({ _id: id, token, answer: null });
    },
  };
}

export function requestUnderWay(): ServiceError {
  return new ServiceError(
    'IDEMPOTENCY_IN_PROGRESS',
    'A request with this Idempotency-Key is being carried out; repeat this one to get its answer.',
    1,
  );
}
