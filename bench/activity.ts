import { setTimeout as wait } from 'node:timers/promises';
import { ulid } from 'ulid';
import { newJobId } from '../domain/ids.js';
import type { AiJobRecord } from '../storage/ai-jobs/job-record.js';
import { newDatabase } from '../storage/content/databases.js';
import type { AttemptEntry, DeliveryRecord } from '../storage/webhooks/deliveries.js';
import { call } from './support/api-client.js';
import { type BenchInstance, startBenchInstance } from './support/instance.js';
import { durationMs, percentile } from './support/measure.js';
import { benchDelivery, benchItem } from './support/records.js';

const SIZES = [1_000, 100_000];
const PERIODS_H = [1, 24, 168];
const REQUESTS = 20;
const PAUSE_MS = 500;
const INSERT_BATCH = 5_000;
const DAY_MS = 24 * 60 * 60 * 1000;

/**
 * Measures `GET /usage/activity`, which an open page of the console requests again and again, with few and with many items,
 * jobs and deliveries, spread over the last day.
 */
export async function activity(size?: string): Promise<void> {
  const instance = await startBenchInstance({ POSTBACK_EMBEDDINGS: 'off' });
  const database = { ...newDatabase('bench', 'bench', new Date()), status: 'ready' as const, graph_ready: true };
  try {
    await instance.collections.databases.insertOne(database);
    let stored = 0;
    for (const next of size === undefined ? SIZES : [Number(size)]) {
      await store(instance, database._id, { from: stored, to: next });
      stored = next;
      for (const hours of PERIODS_H) await measure(instance, next, hours);
    }
  } finally {
    await instance.stop();
  }
}

/** Everything has ended, so that nothing works beside the measurement. One item and delivery in ten has failed. */
async function store({ collections }: BenchInstance, database_id: string, range: { from: number; to: number }) {
  const now = Date.now();
  for (let first = range.from; first < range.to; first += INSERT_BATCH) {
    const numbers = Array.from({ length: Math.min(INSERT_BATCH, range.to - first) }, (_, n) => first + n);
    const insert = numbers.map((n) => ({ n, failed: n % 10 === 0, at: new Date(now - Math.random() * DAY_MS) }));
    await collections.items.insertMany(
      insert.map(({ n, failed }) => {
        const indexing_status = failed ? 'errored' : 'completed';
        return benchItem({ _id: `itm_${n}`, org: 'bench', database_id, indexing_status });
      }),
    );
    await collections.aiJobs.insertMany(insert.map(endedJob));
    await collections.deliveries.insertMany(insert.map(endedDelivery));
  }
}

/** Requests a period more often than a page of the console does. */
async function measure(instance: BenchInstance, size: number, hours: number): Promise<void> {
  const path = `/usage/activity?hours=${hours}`;
  const request = () => call(instance, 'GET', path);
  let shown: { items: { by_status: object } } | undefined;
  const first = await durationMs(async () => {
    shown = await request();
  });
  if (!('completed' in shown!.items.by_status)) throw new Error('the items are not counted');
  const before = await instance.processorTimes();
  const times: number[] = [];
  const took = await durationMs(async () => {
    for (let n = 0; n < REQUESTS; n++) {
      times.push(await durationMs(request));
      await wait(PAUSE_MS);
    }
  });
  const after = await instance.processorTimes();
  const share = (name: string) => `${((100 * (after[name]! - before[name]!)) / took).toFixed(1)} %`;
  console.log(
    `${size.toLocaleString('en').padStart(9)} each, ${String(hours).padStart(3)} h: first ${first.toFixed(0)} ms, ` +
      `then p50 ${percentile(times, 0.5).toFixed(1)} ms, p95 ${percentile(times, 0.95).toFixed(1)} ms; ` +
      `of a core: MongoDB ${share('mongod')}, API ${share('api')}`,
  );
}

interface Ended {
  n: number;
  failed: boolean;
  at: Date;
}

/** A failed delivery has had eight attempts, another delivery one. */
function endedDelivery({ n, failed, at }: Ended): DeliveryRecord {
  const attempt = (number: number): AttemptEntry => ({
    at: new Date(at.getTime() + number * 1_000),
    status_code: failed ? 503 : 200,
    duration_ms: 1 + (n % 97) * 3,
    error: failed ? 'The receiver responded with status 503.' : null,
    answer: 'ok',
  });
  const attempt_log = Array.from({ length: failed ? 8 : 1 }, (_, number) => attempt(number));
  return {
    ...benchDelivery(`dlv_${ulid(at.getTime()).toLowerCase()}`, n),
    status: failed ? 'permanently_failed' : 'delivered',
    attempts: attempt_log.length,
    attempt_log,
    next_attempt_at: null,
    created_at: at,
    updated_at: at,
  };
}

function endedJob({ failed, at }: Ended): AiJobRecord {
  return {
    _id: newJobId(),
    org: 'bench',
    feature: 'ocr',
    subfeature: 'ocr_async',
    provider: 'tesseract',
    model: null,
    status: failed ? 'fail' : 'success',
    input: '{}',
    bytes: 2,
    file_id: null,
    webhook_receiver: null,
    user_parameters: null,
    show_original_response: false,
    time_limit_ms: 0,
    quick: true,
    signing_key: null,
    error_code: null,
    error_message: null,
    cancel_requested: false,
    runs: 1,
    provider_failures: 0,
    check_at: at,
    created_at: at,
    started_at: at,
    finished_at: at,
    expires_at: null,
  };
}
