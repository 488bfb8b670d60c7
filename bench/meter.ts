import { setTimeout as wait } from 'node:timers/promises';
import type { Client } from '@temporalio/client';
import type { BenchInstance } from './instance.js';
import { sideBySide } from './side-by-side.js';

/** Counters by name, of servers that count from their start; what is between two readings is what work has cost. */
type Reading = Record<string, number>;

/** What one piece of work has cost, on the average. */
export interface Cost {
  /** Closed workflows by type. */
  workflows: Record<string, { number: number; events: number; historyBytes: number }>;
  counters: Reading;
}

const CONCURRENCY = 20;
const SETTLING_MS = 3_000;
/** Requests to the frontend, and what the server in turn asks of its own databases. */
const GROUPS: Record<string, string> = {
  service_requests: 'temporal',
  persistence_requests: 'persistence',
  visibility_persistence_requests: 'visibility',
};
/** What the meter itself asks Temporal for. */
const OWN_REQUESTS = ['CountWorkflowExecutions', 'ListWorkflowExecutions'];

/** Measures on an instance that has nothing else to do. */
export function createMeter({ collections, temporalMetricsUrl, processorTimes }: BenchInstance, temporal: Client) {
  if (temporalMetricsUrl === null) throw new Error('footprint needs a Temporal of its own: unset TEMPORAL_ADDRESS');
  const metricsUrl = temporalMetricsUrl;

  /**
   * @param workflow the type that ends each piece
   * @param start starts the n-th piece
   */
  async function cost(count: number, workflow: string, start: (n: number) => Promise<unknown>): Promise<Cost> {
    const since = `StartTime >= "${new Date().toISOString()}"`;
    const before = { ...(await stored()), ...(await settled()), ...(await busy()) };
    await sideBySide(count, CONCURRENCY, start);
    await until(async () => (await number(`${since} AND ExecutionStatus = "Completed"`, workflow)) === count);
    await until(async () => (await number('ExecutionStatus = "Running"')) === 0);
    const after = { ...(await busy()), ...(await settled()), ...(await stored()) };
    const counters = Object.entries(after).map(([name, value]) => [name, (value - (before[name] ?? 0)) / count]);
    return { workflows: await workflowsOf(since, count), counters: Object.fromEntries(counters) };
  }

  async function number(query: string, type?: string): Promise<number> {
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

  /** Temporal writes its visibility store and its own metrics some moments later. */
  async function settled(): Promise<Reading> {
    // Idle workers poll on and on.
    const done = (reading: Reading) =>
      JSON.stringify(Object.entries(reading).filter(([name]) => /^(visibility|temporal\.Respond)/.test(name)));
    let reading = await counted();
    await until(async () => {
      await wait(SETTLING_MS);
      const before = done(reading);
      reading = await counted();
      return done(reading) === before;
    });
    return reading;
  }

  async function counted(): Promise<Reading> {
    return { ...(await mongoCommands()), ...(await temporalRequests()) };
  }

  /** Milliseconds of one core. */
  async function busy(): Promise<Reading> {
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
      // What the server does for itself has another namespace; what it does for its visibility store tells none.
      if (!['default', ''].includes(label('namespace')) || OWN_REQUESTS.includes(operation)) continue;
      if (metric === 'service_requests' && label('service_name') !== 'frontend') continue;
      const name = `${GROUPS[metric!]}.${operation}`;
      reading[name] = (reading[name] ?? 0) + Number(value);
    }
    return reading;
  }

  /** Documents and their bytes (BSON, before compression) by collection; of the oplog, what replication has to carry. */
  async function stored(): Promise<Reading> {
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
