import { setTimeout as wait } from 'node:timers/promises';
import type { Client } from '@temporalio/client';
import type { BenchInstance } from './instance.js';
import { runConcurrently } from './measure.js';

/** Counters by name, counted from the start of the servers. The cost of work is the difference between two readings. */
type Reading = Record<string, number>;

/** The average cost of one unit of work. */
export interface Cost {
  /** Closed workflows by type. */
  workflows: Record<string, { number: number; events: number; historyBytes: number }>;
  counters: Reading;
}

const CONCURRENCY = 20;
/** Pause between two readings that must agree. */
const SETTLE_MS = 3_000;
/** Prometheus metrics: requests to Temporal's frontend, and from the server to its databases. */
const GROUPS: Record<string, string> = {
  service_requests: 'temporal',
  persistence_requests: 'persistence',
  visibility_persistence_requests: 'visibility',
};
/** The meter's own requests to Temporal. */
const OWN_REQUESTS = ['CountWorkflowExecutions', 'ListWorkflowExecutions'];

/** Measures the cost of work on an instance that is otherwise idle. */
export function createMeter({ collections, temporalMetricsUrl, processorTimes }: BenchInstance, temporal: Client) {
  if (temporalMetricsUrl === null) throw new Error('footprint needs its own Temporal server: unset TEMPORAL_ADDRESS');
  const metricsUrl = temporalMetricsUrl;

  /**
   * Does the work and returns its average cost, when all workflows have finished.
   * @param workflow the type of the last workflow of each unit; null when `start` waits for the units itself
   * @param start starts the n-th unit
   */
  async function cost(count: number, workflow: string | null, start: (n: number) => Promise<unknown>): Promise<Cost> {
    const since = `StartTime >= "${new Date().toISOString()}"`;
    const before = { ...(await storedBytes()), ...(await settledCounters()), ...(await processorTime()) };
    await runConcurrently(count, CONCURRENCY, start);
    if (workflow !== null)
      await until(async () => (await countWorkflows(`${since} AND ExecutionStatus = "Completed"`, workflow)) === count);
    await until(async () => (await countWorkflows('ExecutionStatus = "Running"')) === 0);
    const after = { ...(await processorTime()), ...(await settledCounters()), ...(await storedBytes()) };
    const counters = Object.entries(after).map(([name, value]) => [name, (value - (before[name] ?? 0)) / count]);
    return { workflows: await workflowsOf(since, count), counters: Object.fromEntries(counters) };
  }

  async function countWorkflows(query: string, type?: string): Promise<number> {
    return (await temporal.workflow.count(type === undefined ? query : `${query} AND WorkflowType = "${type}"`)).count;
  }

  async function workflowsOf(query: string, count: number): Promise<Cost['workflows']> {
    const sums: Cost['workflows'] = {};
    for await (const { type, historyLength, historySize } of temporal.workflow.list({ query })) {
      const sum = sums[type] ?? { number: 0, events: 0, historyBytes: 0 };
      sums[type] = sum;
      sum.number += 1 / count;
      sum.events += historyLength / count;
      sum.historyBytes += (historySize ?? Number.NaN) / count;
    }
    return sums;
  }

  /** Reads until two readings agree: Temporal updates its visibility store and its metrics with a delay. */
  async function settledCounters(): Promise<Reading> {
    // Idle workers keep polling, so only these counters must come to rest.
    const settling = (reading: Reading) =>
      JSON.stringify(Object.entries(reading).filter(([name]) => /^(visibility|temporal\.Respond)/.test(name)));
    let reading = await readCounters();
    await until(async () => {
      await wait(SETTLE_MS);
      const before = settling(reading);
      reading = await readCounters();
      return settling(reading) === before;
    });
    return reading;
  }

  async function readCounters(): Promise<Reading> {
    return { ...(await mongoCommands()), ...(await temporalRequests()) };
  }

  /** Milliseconds on one core, by process. */
  async function processorTime(): Promise<Reading> {
    return Object.fromEntries(Object.entries(await processorTimes()).map(([name, ms]) => [`cpu.${name}`, ms]));
  }

  async function mongoCommands(): Promise<Reading> {
    const { metrics } = await collections.mongoClient.db('admin').command({ serverStatus: 1 });
    const commands = ['insert', 'update', 'delete', 'findAndModify', 'commitTransaction', 'find', 'aggregate'];
    return Object.fromEntries(commands.map((name) => [`mongodb.${name}`, Number(metrics.commands[name].total)]));
  }

  async function temporalRequests(): Promise<Reading> {
    const reading: Reading = {};
    const metrics = await (await fetch(metricsUrl)).text();
    const sample = new RegExp(`^(${Object.keys(GROUPS).join('|')})\\{(.*)\\} (\\S+)$`, 'gm');
    for (const [, metric, labels, value] of metrics.matchAll(sample)) {
      const label = (name: string) => new RegExp(`\\b${name}="([^"]*)"`).exec(labels!)?.[1] ?? '';
      const operation = label('operation');
      // The server's internal work has another namespace; requests to its visibility store have none.
      if (!['default', ''].includes(label('namespace')) || OWN_REQUESTS.includes(operation)) continue;
      if (metric === 'service_requests' && label('service_name') !== 'frontend') continue;
      const name = `${GROUPS[metric!]}.${operation}`;
      reading[name] = (reading[name] ?? 0) + Number(value);
    }
    return reading;
  }

  /**
   * Documents and bytes (BSON, before compression) by collection, and the bytes of the oplog, which replication sends.
   */
  async function storedBytes(): Promise<Reading> {
    const reading: Reading = {};
    const names = (await collections.db.listCollections({}, { nameOnly: true }).toArray()).map(({ name }) => name);
    for (const name of names) {
      const { count, size } = await collections.db.command({ collStats: name });
      reading[`documents.${name}`] = count;
      reading[`bytes.${name}`] = size;
    }
    reading['bytes.oplog'] = (await collections.mongoClient.db('local').command({ collStats: 'oplog.rs' })).size;
    return reading;
  }

  return { cost };
}

async function until(condition: () => Promise<boolean>): Promise<void> {
  while (!(await condition())) await wait(200);
}
