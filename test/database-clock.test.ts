import { EventEmitter } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from '@jest/globals';
import type { MongoClient } from 'mongodb';
import { createEndItems } from '../activities/content/end-items.js';
import { createCompletion, inTurn } from '../activities/webhooks/completion.js';
import { refOf } from '../domain/content/workflow-contract.js';
import { createSealer } from '../domain/sealing.js';
import { DAY_MS } from '../domain/webhooks/delivery-policy.js';
import { createExpiredUploads } from '../storage/ai-jobs/expired-uploads.js';
import { createSigningKeys } from '../storage/ai-jobs/signing-keys.js';
import { createUploads } from '../storage/ai-jobs/uploads.js';
import { createApiKeys } from '../storage/api-keys.js';
import { followDatabaseClock } from '../storage/clock.js';
import { queuedItem } from '../storage/content/item-queue.js';
import { createItems } from '../storage/content/items.js';
import { createRemovedItems } from '../storage/content/removed-items.js';
import { createIdempotencyKeys } from '../storage/idempotency-keys.js';
import { createDeliveries } from '../storage/webhooks/deliveries.js';
import { createRegistrations } from '../storage/webhooks/registrations.js';
import { createOrganisationSecrets } from '../storage/webhooks/signing-secrets.js';
import { createPaymentStarters } from '../temporal/payments/starters.js';
import type { WorkflowStarter } from '../temporal/workflow-starter.js';
import { createWorkerMetrics } from '../worker/metrics.js';
import { collectionsDuringTests } from './support/during-tests.js';
import { databaseBeside, sharedProduct } from './support/product.js';

const HOUR_MS = 3_600_000;
const ProcessDate = Date;

/** Sets the clock of this process. Timers, and the clock that only counts on, stay right, as on a real machine. */
function shiftClock(ms: number): void {
  globalThis.Date = class extends ProcessDate {
    constructor(...args: [] | [number]) {
      super(...((args.length === 0 ? [ProcessDate.now() + ms] : args) as [number]));
    }
    static override now(): number {
      return ProcessDate.now() + ms;
    }
  } as DateConstructor;
}

describe('a process whose clock is wrong', () => {
  const collections = collectionsDuringTests(databaseBeside(sharedProduct().mongodbUri, 'clock'));
  afterEach(() => {
    globalThis.Date = ProcessDate;
  });

  test('has the time of the database', async () => {
    const before = (await collections.db.command({ hello: 1 })).localTime as Date;
    shiftClock(-HOUR_MS);
    expect(Math.abs(collections.now().getTime() - before.getTime())).toBeLessThan(HOUR_MS / 2);
  });

  test('does not take over a claim on an Idempotency-Key that is valid', async () => {
    const sealer = createSealer(Buffer.alloc(32, 1).toString('base64'));
    const keys = createIdempotencyKeys(collections, sealer, { ttlMs: HOUR_MS / 2 });
    const scope = { org: 'clock', route: 'POST /query', key: 'once' };
    expect(await keys.claim(scope, 'print')).toMatchObject({ state: 'claimed' });
    shiftClock(HOUR_MS);
    expect(await keys.claim(scope, 'print')).toEqual({ state: 'in progress' });
  });

  test('signs with a secret that was replaced a short time ago', async () => {
    const sealer = createSealer(Buffer.alloc(32, 1).toString('base64'));
    const secrets = createOrganisationSecrets(collections, sealer, 'crew');
    await secrets.set('clock', 'whsec_before');
    await secrets.set('clock', 'whsec_after');
    shiftClock(2 * DAY_MS);
    expect(await secrets.listOpen('clock')).toEqual(['whsec_after', 'whsec_before']);
  });

  test('publishes an RSA key that was retired a short time ago', async () => {
    const keys = createSigningKeys(collections, createSealer(Buffer.alloc(32, 1).toString('base64')));
    const retired = await keys.currentId('clock');
    await keys.rotate('clock');
    shiftClock(2 * DAY_MS);
    expect(await keys.findPublicKey('clock', retired)).not.toBeNull();
  });

  test('does not end an upload that others may use', async () => {
    const uploads = createUploads(collections);
    const created_at = collections.now();
    const upload = { _id: 'fil_clock', org: 'clock', filename: 'a.txt', size: 1, mime_type: 'text/plain', created_at };
    await uploads.add({ ...upload, expires_at: new Date(created_at.getTime() + HOUR_MS / 2) });
    shiftClock(HOUR_MS);
    expect(await uploads.findForOrg('clock', 'fil_clock')).toMatchObject(upload);
    expect(await createExpiredUploads(collections).list(10)).toEqual([]);
  });

  test('accepts an API key until it has expired', async () => {
    const keys = createApiKeys(collections);
    const expires_at = new Date(collections.now().getTime() + HOUR_MS / 2);
    const { key } = await keys.create({ org: 'clock', kind: 'api', label: 'clock', expires_at });
    shiftClock(HOUR_MS);
    expect(await keys.authenticate(key)).toMatchObject({ org: 'clock' });
  });

  test('completes work at the time of the database: its delivery is due, and a review of a crew begins', async () => {
    const starters = { startDelivery: async () => undefined };
    const complete = createCompletion({ ...collections, deliveries: createDeliveries(collections), starters }, inTurn);
    const before = collections.now();
    shiftClock(HOUR_MS);
    let completedAt = new Date();
    await complete('clock', async (_, now) => {
      completedAt = now;
      return null;
    });
    expect(Math.abs(completedAt.getTime() - before.getTime())).toBeLessThan(HOUR_MS / 2);
  });

  describe('announces items', () => {
    const registrations = () => createRegistrations(collections, createSealer(Buffer.alloc(32, 1).toString('base64')));
    const notified = () => ({ registrations: registrations(), deliveries: createDeliveries(collections) });
    const item = async (org: string) => {
      await registrations().register(org, 'https://example.com/', ['indexing.status_changed']);
      const owner = {
        org,
        database_id: 'tnt_clock',
        database: 'notes',
        collection: 'default',
        id: 'a',
        batch: 'bat_a',
      };
      const source = { kind: 'text', text: 'The lamp.' } as const;
      const content = { type: 'memory', title: null, metadata: {}, additional_metadata: {}, source } as const;
      const record = queuedItem({ ...owner, ...content }, undefined, collections.now());
      await collections.items.insertOne(record);
      return record;
    };
    /** The delivery of a time ahead would wait for it. */
    const due = async (org: string) => {
      globalThis.Date = ProcessDate;
      return (await collections.deliveries.find({ org, next_attempt_at: { $lte: collections.now() } }).toArray())
        .length;
    };

    test('that have ended, as soon as they have', async () => {
      const record = await item('clock-ended');
      const end = createEndItems({
        ...collections,
        items: createItems(collections),
        removedItems: createRemovedItems({ ...collections, ...notified() }),
        ...notified(),
        starters: { startDeliveries: async () => undefined },
        metrics: createWorkerMetrics(),
        clearOutdated: async () => undefined,
      });
      shiftClock(HOUR_MS);
      await end([refOf(record)], { status: 'completed' });
      expect(await due('clock-ended')).toBe(1);
    });

    test('that were deleted in progress, as soon as they were', async () => {
      const record = await item('clock-deleted');
      const removedItems = createRemovedItems({ ...collections, ...notified() });
      shiftClock(HOUR_MS);
      await removedItems.remove({ _id: record.database_id, org: record.org }, { ids: [record.id] });
      expect(await due('clock-deleted')).toBe(1);
    });
  });

  test('starts the end of an authentication when it expires', async () => {
    const delays: unknown[] = [];
    const start = async (_workflow: string, { startDelay }: { startDelay?: unknown }) => void delays.push(startDelay);
    const starter = { start, now: collections.now } as unknown as WorkflowStarter;
    const expires_at = new Date(collections.now().getTime() + HOUR_MS / 2);
    shiftClock(-HOUR_MS);
    await createPaymentStarters(starter).startExpiry({ _id: 'auth_clock', org: 'clock', expires_at });
    expect(delays[0]).toBeLessThanOrEqual(HOUR_MS / 2);
  });
});

test('a heartbeat that is read late does not set the time back; a database whose clock was set back is followed', () => {
  const client = new EventEmitter();
  const now = followDatabaseClock(client as unknown as MongoClient);
  const heartbeat = (lateMs: number) =>
    client.emit('serverHeartbeatSucceeded', {
      reply: { isWritablePrimary: true, localTime: new Date(Date.now() - lateMs) },
    });
  heartbeat(0);
  const before = now().getTime();
  for (let n = 0; n < 20; n++) {
    heartbeat(5_000);
    expect(now().getTime()).toBeGreaterThanOrEqual(before);
  }
  for (let n = 0; n < 6; n++) heartbeat(HOUR_MS);
  expect(Math.abs(now().getTime() - Date.now() + HOUR_MS)).toBeLessThan(HOUR_MS / 2);
});

test('only listed modules read the clock of their process: the times of records are those of the database', () => {
  const files = ['activities', 'api', 'storage', 'temporal'].flatMap((folder) =>
    readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((file) => join(folder, file)),
  );
  const reading = files.filter((file) => file.endsWith('.ts') && READS_CLOCK.test(readFileSync(file, 'utf8')));
  expect(reading.sort()).toEqual(Object.values(OWN_CLOCK).flat().sort());
});

const READS_CLOCK = /\bnew Date\(\)|\bDate\.now\(\)/;

/** Modules that read the clock of their process, by reason. */
const OWN_CLOCK: Record<string, readonly string[]> = {
  'it is the time of the database until its first heartbeat, or where there is no database': [
    'storage/clock.ts',
    'temporal/workflow-starter.ts',
  ],
  'receivers compare the timestamp of a request with their own clock': [
    'activities/ai-jobs/job-callback.ts',
    'activities/webhooks/indexing-callback.ts',
    'activities/webhooks/message-callback.ts',
    'activities/webhooks/operator-callback.ts',
    'api/webhooks/registration.ts',
  ],
  'it limits a wait or a window within this process': [
    'storage/files/gridfs.ts',
    'storage/rate-limits.ts',
    'temporal/connection.ts',
    'temporal/crews/starters.ts',
    'temporal/worker-deployment.ts',
  ],
  'the versions of an index on disk have the time of the process that wrote them': [
    'storage/content/search-index/lancedb/maintenance.ts',
  ],
  'a backup says when it was made': ['storage/backup/dump.ts'],
};
