import { readFileSync } from 'node:fs';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { encodeTime } from 'ulid';
import { parse } from 'yaml';
import { MAX_COUNTED } from '../domain/metrics.js';
import { createActivity } from '../storage/activity.js';
import { createBacklogReader } from '../storage/backlog.js';
import { startSdkMetrics } from '../worker/sdk-metrics.js';
import { type Client, createClient } from './support/client.js';
import { receiverDuringTests } from './support/during-tests.js';
import { eventually } from './support/eventually.js';
import { testCollections } from './support/mongodb.js';
import { databaseBeside, makeKey, sharedProduct } from './support/product.js';

describe('/metrics', () => {
  const { apiUrl, workerUrl, mongodbUri } = sharedProduct();
  const org = 'measured-organisation';
  let api: Client;
  let key: Awaited<ReturnType<typeof makeKey>>;
  const receiver = receiverDuringTests();
  beforeAll(async () => {
    key = await makeKey(mongodbUri, org);
    api = createClient(apiUrl, key.key);
  });

  const scrape = async (url: string) => (await fetch(`${url}/metrics`)).text();
  /** The value of a sample; 0 when it is missing. @param labels in the order of the output */
  const sample = (text: string, name: string, labels: string) =>
    Number(
      text
        .split('\n')
        .find((line) => line.startsWith(`${name}{${labels}} `))
        ?.split(' ')
        .at(-1) ?? 0,
    );

  test('counts requests by method, route pattern and status, and needs no key', async () => {
    const countOf = async (route: string, status: number) =>
      sample(
        await scrape(apiUrl),
        'postback_http_request_duration_seconds_count',
        `method="GET",route="${route}",status="${status}"`,
      );
    const pattern = '/webhooks/indexing/deliveries/:delivery_id';
    const before = [await countOf(pattern, 404), await countOf('none', 404)];
    await api.get('/webhooks/indexing/deliveries/dlv_one');
    await api.get('/webhooks/indexing/deliveries/dlv_two');
    await api.get('/measured/nowhere');
    expect(await countOf(pattern, 404)).toBeGreaterThanOrEqual(before[0]! + 2);
    expect(await countOf('none', 404)).toBeGreaterThan(before[1]!);
    const response = await fetch(`${apiUrl}/metrics`);
    expect(response.headers.get('content-type')).toMatch(/^text\/plain; version=0\.0\.4/);
    expect(await response.text()).toContain('# TYPE postback_http_request_duration_seconds histogram');
  });

  test('contains no organisation, no key and no client data', async () => {
    const text = await scrape(apiUrl);
    expect(text).toContain('process_resident_memory_bytes');
    for (const secret of [org, key.record._id, key.key, 'dlv_one', 'measured/nowhere'])
      expect(text).not.toContain(secret);
  });

  test('of a worker counts finished items and delivery attempts by outcome', async () => {
    await api.createDatabase('measured');
    await api.post('/webhooks/indexing', { url: receiver.url });
    const before = await scrape(workerUrl);
    await api.ingest({ database: 'measured', memories: '[{"id":"m","text":"Something to count."}]' });
    // Other tests share this worker: what they end may count before the note of this test does.
    await eventually('the item and its delivery are counted', async () => {
      const now = await scrape(workerUrl);
      for (const [name, labels] of [
        ['postback_items_finished_total', 'status="completed"'],
        ['postback_delivery_attempts_total', 'event="indexing.status_changed",outcome="delivered"'],
        ['postback_receiver_response_seconds_count', 'event="indexing.status_changed",outcome="delivered"'],
        ['postback_item_indexing_seconds_count', 'status="completed"'],
        ['postback_embedded_texts_total', 'kind="document"'],
      ] as const) {
        expect([name, sample(now, name, labels) > sample(before, name, labels)]).toEqual([name, true]);
      }
      return true;
    });
    expect(await (await fetch(`${workerUrl}/healthz`)).json()).toEqual({ status: 'ok' });
    // On a busy machine a probe can time out.
    const ready = await eventually('ready', async () => {
      const response = await fetch(`${workerUrl}/readyz`);
      return response.status === 200 && response.json();
    });
    expect(ready).toMatchObject({ status: 'ready', temporal: true, mongodb: true });
  });

  test('of the API has the backlog of all organisations', async () => {
    // On a busy machine a count can take longer than it may, and is then missing for some seconds.
    const text = await eventually('the backlog', async () => {
      const scraped = await scrape(apiUrl);
      return scraped.includes('\npostback_backlog_readable 1\n') && scraped;
    });
    expect(text).toMatch(/\npostback_items_unfinished\{status="queued"\} \d+\n/);
    expect(text).toMatch(/\npostback_temporal_call_duration_seconds_count\{result="ok"\} [1-9]\d*\n/);
  });

  test('has every metric of the dashboard and the alerts, and docs/monitoring.md describes them', async () => {
    const read = (path: string) => readFileSync(path, 'utf8');
    const [dashboard, alerts, page] = [
      read('ops/grafana/postback.json'),
      read('ops/prometheus/alerts.yml'),
      read('docs/monitoring.md'),
    ];
    const { panels } = JSON.parse(dashboard) as { panels: { targets?: { expr: string }[] }[] };
    const { groups } = parse(alerts) as { groups: { rules: { alert: string; expr: string }[] }[] };
    const rules = groups.flatMap((group) => group.rules);
    const expressions = [...panels.flatMap(({ targets = [] }) => targets), ...rules].map(({ expr }) => expr);
    const used = new Set(expressions.flatMap((expr) => expr.match(/\b(postback|temporal|process|nodejs)_\w+/g) ?? []));
    expect(used.size).toBeGreaterThan(25);
    // The workers have run workflows and activities by now; the SDK lists a metric after its first use.
    await eventually('every metric is served', async () => {
      const served = servedNames(`${await scrape(apiUrl)}\n${await scrape(workerUrl)}`);
      expect([...used].filter((name) => !served.has(name))).toEqual([]);
      const ours = [...served].filter((name) => /^postback_/.test(name) && !/_(bucket|sum|count)$/.test(name));
      expect(ours.filter((name) => !page.includes(`| \`${name}\``))).toEqual([]);
      const described = [...page.matchAll(/^\| `((?:postback|temporal)_\w+)`/gm)].map(([, name]) => name!);
      expect(described.filter((name) => !served.has(name))).toEqual([]);
      return true;
    });
    for (const { alert } of rules) {
      expect(page).toContain(`\n### ${alert}\n`);
      expect(alerts).toContain(`docs/monitoring.md#${alert.toLowerCase()}\n`);
    }
    expect(page.match(/^### Postback/gm)).toHaveLength(rules.length);
  });
});

test('the backlog counts what is not finished, and says since when the first of it waits', async () => {
  const collections = await testCollections(databaseBeside(sharedProduct().mongodbUri, 'backlog'));
  const now = new Date('2026-01-01T12:00:00Z');
  const minutesAgo = (minutes: number) => new Date(now.getTime() - minutes * 60_000);
  const insert = (collection: { insertMany(records: never[]): Promise<unknown> }, records: object[]) =>
    collection.insertMany(
      records.map((record, n) => ({ _id: `r${n}`, org: `org-${n}`, check_at: now, ...record })) as never[],
    );
  const batch = (minutes: number) => `bat_${encodeTime(minutesAgo(minutes).getTime())}${'0'.repeat(16)}`.toLowerCase();
  await insert(collections.items, [
    { id: 'a', indexing_status: 'queued', batch: batch(2) },
    { id: 'b', indexing_status: 'queued', batch: batch(9) },
    { id: 'c', indexing_status: 'processing', batch: batch(5) },
    { id: 'd', indexing_status: 'completed', batch: batch(60), rows_due: ['chg_one'] },
  ]);
  await insert(collections.deliveries, [
    { receiver: 'r', dedupe_key: 'a', status: 'pending', created_at: minutesAgo(3), next_attempt_at: minutesAgo(3) },
    { receiver: 'r', dedupe_key: 'b', status: 'failed', created_at: minutesAgo(30), next_attempt_at: minutesAgo(-5) },
    { receiver: 'r', dedupe_key: 'c', status: 'failed', created_at: minutesAgo(20), next_attempt_at: minutesAgo(7) },
    { receiver: 'r', dedupe_key: 'd', status: 'sweeping', created_at: minutesAgo(1), next_attempt_at: minutesAgo(40) },
    { receiver: 'r', dedupe_key: 'e', status: 'delivered', created_at: minutesAgo(90), next_attempt_at: null },
    {
      receiver: 'r',
      dedupe_key: 'f',
      status: 'pending',
      created_at: now,
      next_attempt_at: now,
    },
  ]);
  await insert(collections.aiJobs, [
    { status: 'processing', created_at: minutesAgo(4) },
    { status: 'success', created_at: minutesAgo(50) },
  ]);
  await insert(collections.crewExecutions, [
    { status: 'pending_human_input', created_at: minutesAgo(8), waiting_since: minutesAgo(6) },
    { status: 'running', created_at: minutesAgo(9), waiting_since: null },
  ]);
  const readBacklog = createBacklogReader(collections);
  // On a busy machine a count can take longer than it may.
  const backlog = await eventually('the counts', () => readBacklog(now));
  expect(backlog).toEqual({
    items: { counts: { queued: 2, processing: 1 }, oldest: minutesAgo(9) },
    rowsDue: 1,
    deliveries: { counts: { pending: 2, failed: 2, sweeping: 1 }, oldest: minutesAgo(30) },
    deliveriesDue: { count: 3, since: minutesAgo(7) },
    jobs: { counts: { processing: 1 }, oldest: minutesAgo(4) },
    crews: { counts: { pending_human_input: 1, running: 1 }, oldest: minutesAgo(9) },
    crewsWaitingSince: minutesAgo(6),
    authentications: { counts: {}, oldest: null },
  });
});

/** The names of the samples that a page of metrics can have, also of metrics without a sample yet. */
function servedNames(text: string): Set<string> {
  const names = [...text.matchAll(/^# TYPE (\w+) (\w+)$/gm)].flatMap(([, name, type]) =>
    type === 'histogram' ? [name!, `${name}_bucket`, `${name}_sum`, `${name}_count`] : [name!],
  );
  return new Set(names);
}

test('the activity of an organisation counts its items and jobs up to a bound', async () => {
  const collections = await testCollections(databaseBeside(sharedProduct().mongodbUri, 'activity'));
  const { items, databases, aiJobs } = collections;
  const from = new Date('2026-01-01T00:00:00Z');
  const insert = (collection: { insertMany(records: never[]): Promise<unknown> }, records: object[]) =>
    collection.insertMany(records as never[]);
  await insert(databases, [{ _id: 'tnt_a', org: 'many', name: 'a' }]);
  const records = (number: number, status: string) =>
    Array.from({ length: number }, (_, n) => {
      const _id = `${status}${n}`;
      return {
        _id,
        org: 'many',
        id: _id,
        database_id: 'tnt_a',
        collection: 'default',
        type: 'memory',
        indexing_status: status,
      };
    });
  await insert(items, [...records(MAX_COUNTED + 5, 'completed'), ...records(3, 'errored')]);
  const job = (_id: string, status: string, created_at: Date) => ({
    _id,
    org: 'many',
    feature: 'text',
    status,
    created_at,
  });
  const before = new Date(from.getTime() - 1);
  await insert(aiJobs, [
    job('1', 'queued', before),
    job('2', 'success', before),
    job('3', 'success', from),
    job('4', 'fail', from),
  ]);
  const activity = createActivity(collections);
  expect(await activity.itemsByStatus('many')).toEqual({
    by_status: { completed: MAX_COUNTED, errored: 3 },
    truncated: true,
  });
  expect(await activity.itemsByStatus('few')).toEqual({ by_status: {}, truncated: false });
  expect(await activity.jobsByStatus('many', { from, to: new Date(), intervalMs: 1 })).toEqual({
    by_status: { queued: 1, success: 1, fail: 1 },
    truncated: false,
  });
});

test("the metrics of Temporal's SDK take another port when the chosen one has been taken since", async () => {
  const ports = [40_001, 40_002];
  const tried: unknown[] = [];
  const install = ({ prometheus }: { prometheus?: { bindAddress: string } }) => {
    tried.push(prometheus?.bindAddress);
    if (tried.length === 1) throw new Error('Failed to start prometheus metrics exporter: Address already in use');
  };
  await startSdkMetrics(install as Parameters<typeof startSdkMetrics>[0], async () => ports[tried.length]!);
  expect(tried).toEqual(['127.0.0.1:40001', '127.0.0.1:40002']);
  const always = () => {
    throw new Error('no port');
  };
  await expect(startSdkMetrics(always, async () => 40_001)).rejects.toThrow('no port');
});
