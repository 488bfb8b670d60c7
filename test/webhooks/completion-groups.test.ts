import { AsyncLocalStorage } from 'node:async_hooks';
import { beforeAll, describe, expect, test } from '@jest/globals';
import type { ClientSession } from 'mongodb';
import { newDeliveryId } from '../../domain/ids.js';
import { type CompletionWrite, createCompletionGroups, inTurn } from '../../storage/webhooks/completion-groups.js';
import { createDeliveries } from '../../storage/webhooks/deliveries.js';
import type { NewDelivery } from '../../storage/webhooks/new-delivery.js';
import { collectionsDuringTests } from '../support/during-tests.js';
import { databaseBeside, sharedProduct } from '../support/product.js';

describe('completions', () => {
  let commit: ReturnType<typeof createCompletionGroups<CompletionWrite>>;
  const collections = collectionsDuringTests(databaseBeside(sharedProduct().mongodbUri, 'completion-groups'));
  beforeAll(async () => {
    commit = createCompletionGroups({ ...collections, deliveries: createDeliveries(collections) }, inTurn);
  });

  function newDelivery(dedupe_key: string = newDeliveryId(new Date())): NewDelivery {
    const job = {
      org: 'groups',
      event_type: 'async_job_completed',
      doc_id: 'job',
      url: 'https://example.com/',
    } as const;
    return { ...job, _id: newDeliveryId(new Date()), dedupe_key, now: new Date() };
  }
  const stored = (keys: readonly string[]) => collections.deliveries.countDocuments({ dedupe_key: { $in: [...keys] } });

  /** Commits these while two transactions run, and so together. */
  async function commitTogether(writes: readonly CompletionWrite[]) {
    let release: () => void = () => undefined;
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    const running = [1, 2].map(() => commit('groups', () => held.then(() => null)));
    const committed = writes.map((write) => commit('groups', write));
    release();
    expect(await Promise.all(running)).toEqual([null, null]);
    return Promise.allSettled(committed);
  }

  test('that arrive while others are committed share one transaction, each with its own result', async () => {
    const sessions = new Set<ClientSession>();
    const deliveries = Array.from({ length: 8 }, () => newDelivery());
    const withDelivery = deliveries.map((delivery) => async (tx: ClientSession) => {
      sessions.add(tx);
      return delivery;
    });
    const results = await commitTogether([...withDelivery, async () => null, async () => undefined]);
    expect(results.map((result) => result.status === 'fulfilled' && result.value)).toEqual([
      ...deliveries.map(({ _id }) => expect.objectContaining({ _id, status: 'pending', has_workflow: true })),
      null,
      undefined,
    ]);
    expect(sessions.size).toBe(1);
    expect(await stored(deliveries.map(({ dedupe_key }) => dedupe_key))).toBe(8);
  });

  test('of several organisations never share a transaction', async () => {
    const sessions = new Map<ClientSession, Set<string>>();
    const writes = ['a', 'b', 'a', 'b', 'c', 'a'].map((org) => ({
      org,
      write: async (tx: ClientSession) => {
        sessions.set(tx, (sessions.get(tx) ?? new Set()).add(org));
        return null;
      },
    }));
    let release: () => void = () => undefined;
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    const running = [1, 2].map(() => commit('groups', () => held.then(() => null)));
    const committed = writes.map(({ org, write }) => commit(org, write));
    release();
    await Promise.all([...running, ...committed]);
    expect([...sessions.values()].map((orgs) => [...orgs])).toEqual([['a'], ['b'], ['c']]);
  });

  test('that fail harm only themselves', async () => {
    const [taken, ...others] = Array.from({ length: 4 }, () => newDelivery());
    await commit('groups', async () => taken!);
    const deliveries = [...others, newDelivery(taken!.dedupe_key)];
    const failing = async () => Promise.reject(new Error('no such work'));
    const results = await commitTogether([failing, ...deliveries.map((delivery) => async () => delivery)]);
    expect(results.map(({ status }) => status)).toEqual([
      'rejected',
      'fulfilled',
      'fulfilled',
      'fulfilled',
      'rejected',
    ]);
    expect(results[0]).toMatchObject({ reason: { message: 'no such work' } });
    expect(results[4]).toMatchObject({ reason: { code: 11000 } });
    expect(await stored(deliveries.map(({ dedupe_key }) => dedupe_key))).toBe(4);
  });

  test('that conflict with another change are repeated', async () => {
    const counters = collections.db.collection<{ _id: number; count: number }>('counters');
    await counters.insertOne({ _id: 1, count: 0 });
    let runs = 0;
    const conflicting = async (tx: ClientSession) => {
      runs += 1;
      await counters.findOne({ _id: 1 }, { session: tx });
      if (runs === 1) await counters.updateOne({ _id: 1 }, { $inc: { count: 1 } });
      await counters.updateOne({ _id: 1 }, { $inc: { count: 10 } }, { session: tx });
      return null;
    };
    const delivery = newDelivery();
    const results = await commitTogether([conflicting, async () => delivery]);
    expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled']);
    expect(runs).toBe(2);
    expect(await counters.findOne({ _id: 1 })).toMatchObject({ count: 11 });
    expect(await stored([delivery.dedupe_key])).toBe(1);
  });

  test('prepare each delivery in the context of its own work', async () => {
    const work = new AsyncLocalStorage<number>();
    const seen: (number | undefined)[] = [];
    const deliveries = createDeliveries(collections);
    const prepare: typeof deliveries.prepare = (added) => {
      seen.push(work.getStore());
      return deliveries.prepare(added);
    };
    const commitSeen = createCompletionGroups({ ...collections, deliveries: { ...deliveries, prepare } }, inTurn);
    const write = async () => newDelivery();
    await Promise.all([0, 1, 2, 3, 4, 5].map((n) => work.run(n, () => commitSeen('groups', write))));
    expect(seen.sort()).toEqual([0, 1, 2, 3, 4, 5]);
  });
});
