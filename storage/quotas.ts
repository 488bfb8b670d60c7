import type { ClientSession } from 'mongodb';
import { ProviderError, ServiceError } from '../domain/errors.js';
import {
  type AddedUse,
  type Limits,
  QUOTAS,
  type Quota,
  quotaExceeded,
  type TokenMeter,
  tokensUsedUp,
} from '../domain/quotas.js';
import { createSemaphore } from '../domain/semaphore.js';
import type { Access } from './collections.js';
import { endOfDay, type ModelTokens } from './model-tokens.js';
import type { Organisations } from './organisations.js';
import { BY_ID } from './queries.js';
import { inTransaction } from './transactions.js';
import { MEASURES, type Measure, type Usage } from './usage.js';

/**
 * A document that every request of an organisation with limits writes in its transaction, so that two requests cannot
 * both take the last of a quota: one of the transactions is repeated, and sees the use that the other has added.
 */
export interface QuotaGateRecord {
  /** `<org>/<measure>` */
  _id: string;
  org: string;
  /**
   * An upper bound of the use: measured once, then raised by each request. It is measured again before a request is
   * rejected, so nothing needs to lower it.
   */
  use: AddedUse;
  measured_at: Date;
  /** When a request last passed the gate. */
  passed_at: Date;
}

/** The measure that counts each guarded quota. */
const MEASURE_OF: Partial<Record<Quota, Measure>> = {
  stored_bytes: 'storage',
  items: 'storage',
  uploads: 'storage',
  databases: 'databases',
  connectors: 'connectors',
  queued_jobs: 'jobs',
  running_crews: 'crews',
};

/** How long a measured bound is trusted; requests that were admitted without the gate are found after this time. */
const TRUSTED_MS = 10 * 60 * 1000;
/** How long after a change of limits requests may still run that have read the limits before. */
const SETTLED_MS = 10_000;
/** A measurement that takes longer is not repeated at once for requests that would be rejected. */
const CHEAP_MS = 50;
/** How long such a measurement is used, in multiples of the time that it took. */
const REUSE_FACTOR = 10;

export type QuotaUse = Record<Quota, { used: number; limit: number | null }>;

export type Quotas = ReturnType<typeof createQuotas>;

/**
 * Quotas of organisations. Requests of an organisation without limits write nothing here.
 * @param defaults limits of organisations without limits of their own
 */
export function createQuotas(
  {
    mongoClient,
    quotaGates,
    organisations,
    usage,
    modelTokens,
    now: clock,
  }: Access<'mongoClient' | 'quotaGates' | 'now'> & {
    organisations: Pick<Organisations, 'find'>;
    usage: Pick<Usage, 'measure'>;
    modelTokens: ModelTokens;
  },
  defaults: Limits,
) {
  /** Other defaults may have applied before this process started. */
  const startedAt = clock().getTime();
  /** Expensive measurements by which requests were rejected, by gate. */
  const expensive = new Map<string, { use: AddedUse; until: number }>();
  const measuring = new Map<string, Promise<AddedUse>>();
  /** Transactions of a gate that this process would run in parallel would only conflict. */
  const turns = createSemaphore({ perOwner: 1 });

  async function limitsOf(org: string): Promise<{ limits: Limits; changedAt: number }> {
    const own = await organisations.find(org);
    return { limits: { ...defaults, ...own?.limits }, changedAt: own?.updated_at.getTime() ?? 0 };
  }

  return {
    /** @returns use and limit of each quota */
    async usageOf(org: string, now: Date): Promise<QuotaUse> {
      const [{ limits }, model_tokens, measured] = await Promise.all([
        limitsOf(org),
        modelTokens.usedOn(org, now),
        measureAll(org),
      ]);
      const use: AddedUse = { ...measured, model_tokens };
      return Object.fromEntries(
        QUOTAS.map((name) => [name, { used: use[name] ?? 0, limit: limits[name] }]),
      ) as QuotaUse;
    },

    /**
     * Call before work is accepted that uses tokens.
     * @throws ServiceError FORBIDDEN when those of the day are used up
     */
    async requireTokens(org: string, now: Date): Promise<void> {
      const { limits } = await limitsOf(org);
      if (limits.model_tokens === null) return;
      const used = await modelTokens.usedOn(org, now);
      if (used >= limits.model_tokens) throw tokensUsedUp(used, limits.model_tokens, endOfDay(now), now);
    },

    /** Counts the tokens of an organisation. It admits no call when those of the day are used up. */
    tokenMeter(org: string): TokenMeter {
      return {
        admit: async () => {
          try {
            await this.requireTokens(org, clock());
          } catch (error) {
            throw error instanceof ServiceError ? new ProviderError(error.message, false) : error;
          }
        },
        count: (tokens) => modelTokens.add(org, tokens, clock()),
      };
    },

    /**
     * Runs a write that adds to the use of an organisation, if that stays within its limits. The check and the write are
     * one transaction.
     * @param write may run several times
     * @param tx a running transaction to join
     * @throws ServiceError FORBIDDEN
     */
    async admit<Result>(
      org: string,
      added: AddedUse,
      write: (tx?: ClientSession) => Promise<Result>,
      tx?: ClientSession,
    ): Promise<Result> {
      const { limits, changedAt } = await limitsOf(org);
      const guarded = QUOTAS.filter((quota) => (added[quota] ?? 0) > 0 && limits[quota] !== null);
      const gates = new Set(guarded.flatMap((quota) => MEASURE_OF[quota] ?? []));
      if (gates.size === 0) return write(tx);
      const trustedSince = Math.max(startedAt, changedAt + SETTLED_MS, clock().getTime() - TRUSTED_MS);
      const passAndWrite = async (session: ClientSession) => {
        for (const gate of gates) await pass(org, gate, { added, limits, trustedSince }, session);
        return write(session);
      };
      if (tx) return passAndWrite(tx);
      const leave = await turns.acquire(undefined, `${org}/${[...gates].join()}`);
      return inTransaction(mongoClient, passAndWrite).finally(leave);
    },
  };

  /** Requests that ask at the same time share one measurement. */
  async function measureAll(org: string): Promise<AddedUse> {
    const running = measuring.get(org);
    if (running) return running;
    const measured = Promise.all(MEASURES.map((name) => usage.measure(name, org))).then((uses) =>
      Object.assign({}, ...uses),
    );
    measuring.set(org, measured);
    return measured.finally(() => measuring.delete(org));
  }

  async function pass(
    org: string,
    gate: Measure,
    { added, limits, trustedSince }: { added: AddedUse; limits: Limits; trustedSince: number },
    tx: ClientSession,
  ): Promise<void> {
    const id = `${org}/${gate}`;
    const growth = QUOTAS.filter((quota) => MEASURE_OF[quota] === gate && (added[quota] ?? 0) > 0);
    const exceeded = (use: AddedUse) =>
      growth.find((quota) => limits[quota] !== null && (use[quota] ?? 0) + added[quota]! > limits[quota]);
    const rejectBy = (use: AddedUse) => {
      const quota = exceeded(use);
      if (quota) throw quotaExceeded(quota, use[quota] ?? 0, limits[quota]!, added[quota]!);
    };

    const known = expensive.get(id);
    if (known && known.until > performance.now()) rejectBy(known.use);

    const now = clock();
    const before = await quotaGates.findOneAndUpdate(
      { _id: id, org },
      {
        $inc: Object.fromEntries(growth.map((quota) => [`use.${quota}`, added[quota]!])),
        $set: { passed_at: now },
        $setOnInsert: { org },
      },
      { session: tx, upsert: true, returnDocument: 'before', ...BY_ID },
    );
    if (before?.measured_at && before.measured_at.getTime() >= trustedSince && !exceeded(before.use)) return;

    const started = performance.now();
    const use = await usage.measure(gate, org, tx);
    const took = performance.now() - started;
    if (took > CHEAP_MS && exceeded(use)) expensive.set(id, { use, until: performance.now() + took * REUSE_FACTOR });
    else expensive.delete(id);
    rejectBy(use);
    const bound = Object.fromEntries(Object.entries(use).map(([name, n]) => [name, n + (added[name as Quota] ?? 0)]));
    const measured = { $set: { use: bound, measured_at: now } };
    await quotaGates.updateOne({ _id: id, org }, measured, { session: tx, ...BY_ID });
  }
}
