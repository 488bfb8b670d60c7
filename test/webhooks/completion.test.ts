import { beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { context, propagation } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import { W3CTraceContextPropagator } from '@opentelemetry/core';
import type { ClientSession } from 'mongodb';
import { type CompletionWrite, createCompletion, inTurn } from '../../activities/webhooks/completion.js';
import { newDeliveryId } from '../../domain/ids.js';
import { contextOf } from '../../domain/trace-context.js';
import { createDeliveries, type DeliveryRecord } from '../../storage/webhooks/deliveries.js';
import type { NewDelivery } from '../../storage/webhooks/new-delivery.js';
import { collectionsDuringTests } from '../support/during-tests.js';
import { databaseBeside, sharedProduct } from '../support/product.js';

describe('completions', () => {
  let complete: ReturnType<typeof createCompletion<CompletionWrite>>;
  let started: Pick<DeliveryRecord, '_id'>[];
  const collections = collectionsDuringTests(databaseBeside(sharedProduct().mongodbUri, 'completion-groups'));
  beforeAll(async () => {
    const starters = { startDelivery: async (delivery: Pick<DeliveryRecord, '_id'>) => void started.push(delivery) };
    complete = createCompletion({ ...collections, deliveries: createDeliveries(collections), starters }, inTurn);
  });
  beforeEach(() => {
    started = [];
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

  /** Completes these while as many others of these organisations are being committed as can be at a time. */
  async function whileBusy(orgs: readonly string[], completeThese: () => Promise<boolean>[]) {
    const held = Promise.withResolvers<null>();
    const running = [...orgs, ...orgs].map((org) => complete(org, () => held.promise));
    const completed = completeThese();
    held.resolve(null);
    await Promise.all(running);
    return Promise.allSettled(completed);
  }

  const completeTogether = (writes: readonly CompletionWrite[]) =>
    whileBusy(['groups'], () => writes.map((write) => complete('groups', write)));

  test('that arrive while others are committed share one transaction, each with its own result', async () => {
    const sessions = new Set<ClientSession>();
    const deliveries = Array.from({ length: 8 }, () => newDelivery());
    const withDelivery = deliveries.map((delivery) => async (tx: ClientSession) => {
      sessions.add(tx);
      return delivery;
    });
    const results = await completeTogether([...withDelivery, async () => null, async () => undefined]);
    expect(results.map((result) => result.status === 'fulfilled' && result.value)).toEqual([
      ...deliveries.map(() => true),
      true,
      false,
    ]);
    expect(started).toEqual(
      deliveries.map(({ _id }) => expect.objectContaining({ _id, status: 'pending', has_workflow: true })),
    );
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
    await whileBusy(['a', 'b', 'c'], () => writes.map(({ org, write }) => complete(org, write)));
    expect([...sessions.values()].map((orgs) => [...orgs]).sort()).toEqual([['a'], ['b'], ['c']]);
  });

  test('that fail harm only themselves', async () => {
    const [taken, ...others] = Array.from({ length: 4 }, () => newDelivery());
    await complete('groups', async () => taken!);
    const deliveries = [...others, newDelivery(taken!.dedupe_key)];
    const failing = async () => Promise.reject(new Error('no such work'));
    const results = await completeTogether([failing, ...deliveries.map((delivery) => async () => delivery)]);
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
    const results = await completeTogether([conflicting, async () => delivery]);
    expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled']);
    expect(runs).toBe(2);
    expect(await counters.findOne({ _id: 1 })).toMatchObject({ count: 11 });
    expect(await stored([delivery.dedupe_key])).toBe(1);
  });

  test('keep the trace of their own work', async () => {
    context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
    propagation.setGlobalPropagator(new W3CTraceContextPropagator());
    try {
      const traces = [1, 2, 3, 4, 5, 6].map((n) => `00-${String(n).padStart(32, '0')}-b7ad6b7169203331-01`);
      await Promise.all(
        traces.map((trace) => context.with(contextOf(trace), () => complete('groups', async () => newDelivery(trace)))),
      );
      // Two commits run at a time, so their deliveries start in any order.
      const expected = traces.map((trace) => expect.objectContaining({ dedupe_key: trace, trace }));
      expect(started).toEqual(expect.arrayContaining(expected));
      expect(started).toHaveLength(traces.length);
    } finally {
      context.disable();
      propagation.disable();
    }
  });
});
