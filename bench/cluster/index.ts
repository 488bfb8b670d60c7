import { setTimeout as wait } from 'node:timers/promises';
import type { KeyKind } from '../../domain/api-keys.js';
import { createApiKeys } from '../../storage/api-keys.js';
import { type Collections, openCollections } from '../../storage/collections.js';
import { connectTemporal } from '../../temporal/connection.js';
import { printFigures, writeResult } from '../support/results.js';
import { doubledWork, failedWorkflows, failedWorkflowTasks, findDuplicates, stuckWork } from './check.js';
import { type Cluster, startCluster } from './cluster.js';
import { createFaultLog, type FaultLog, injectFaults, time } from './faults.js';
import { connector } from './load/connector.js';
import { crews } from './load/crews.js';
import { files, replacements } from './load/files.js';
import { authentications, jobs } from './load/jobs.js';
import { DATABASE, type LoadContext, type LoadKind } from './load/kind.js';
import { hostile, neighbour } from './load/neighbours.js';
import { notes } from './load/notes.js';
import { readOptions } from './options.js';
import { createRandom } from './random.js';
import { type ClusterReceiver, sometimesWrong, startClusterReceiver } from './receiver.js';
import { figuresOf } from './report.js';
import { createRequests, type Requests } from './requests.js';
import { buildRelease, postback, rollOver } from './rollout.js';

/** How long the work may take to end when the faults are over. */
const END_MS = 8 * 60_000;
const LOOK_EVERY_MS = 3_000;
const PRINT_EVERY_MS = 30_000;
/** How many lines of a kind are printed. */
const LINES = 20;

/**
 * Runs a cluster on this machine under mixed load while every process in turn is killed, frozen or cut off, and then checks
 * that nothing was lost, doubled without a reason, or is stuck.
 * @throws Error with the number of violations, which are printed
 */
export async function cluster(...args: string[]): Promise<void> {
  const { minutes, seed, embedded, from } = readOptions(args);
  const options = `${minutes}${embedded ? ' --embedded' : ''} --seed ${seed}${from === undefined ? '' : ` --from ${from}`}`;
  console.log(`to repeat: npm run bench -- cluster ${options}`);
  const closing: (() => Promise<unknown>)[] = [];
  const beforeEnd = (close: () => Promise<unknown>) => void closing.unshift(close);
  try {
    const release = from === undefined ? null : await buildRelease(from);
    if (release) beforeEnd(release.remove);
    const running = await startCluster({ embedded, code: release?.code });
    beforeEnd(running.stop);
    if (release) await postback(running, release.code, 'worker', 'promote');
    // Without migrations, which belong to the rollout.
    const collections = await openCollections(running.mongodbUri, 'postback-bench');
    beforeEnd(() => collections.mongoClient.close());
    const receiver = await startClusterReceiver(release ? () => 'accepts' : sometimesWrong);
    beforeEnd(receiver.close);
    const faults = createFaultLog();
    const requests = createRequests(running.apiUrl, faults);
    const load = await prepareLoad({ requests, random: createRandom(seed), faults, collections, receiver });
    for (const { close } of load.kinds) if (close) beforeEnd(close);
    const until = Date.now() + minutes * 60_000;
    const change = release
      ? rollOver(running, until)
      : injectFaults(running, createRandom(seed), until, faults, maxFreezeSeconds(minutes));
    let isOver = false;
    // A rollout can last longer than planned, and is under load until its end.
    const ended = change.finally(() => {
      isOver = true;
    });
    await Promise.all([ended, ...load.kinds.map((kind) => sendWhile(kind, () => !isOver || Date.now() < until))]);
    const loadEnd = Date.now();
    console.log(`${time(Date.now())}  the load ends; waiting for the work that is accepted`);
    const violations = await check(running, load, { collections, faults, requests }, release !== null);
    const figures = figuresOf({ ...load, delays: load.delays(), requests, faults, settledMs: Date.now() - loadEnd });
    for (const [title, rows] of Object.entries(figures)) printFigures(title, rows);
    if (violations.length > 0) {
      console.log(`\n${violations.length} violations`);
      for (const violation of violations) console.log(`  ${violation}`);
      console.log(`logs and data: ${running.keepFolder()}`);
      throw new Error(`the cluster broke its promises: ${violations.length} violations with seed ${seed}`);
    }
    console.log(`\nnothing was lost, nothing is stuck, nothing was doubled without a reason (seed ${seed})`);
    if (!embedded && !release) writeResult('cluster', options, figures);
  } finally {
    for (const close of closing) await close().catch((error) => console.error(`  ${(error as Error).message}`));
  }
}

/** A minute, and less in a short run, so that it has more than one fault. */
const maxFreezeSeconds = (minutes: number) => Math.min(60, minutes * 6);

type Load = Awaited<ReturnType<typeof prepareLoad>>;

/** Creates the organisations, before the first fault. */
async function prepareLoad({
  collections,
  ...shared
}: Pick<LoadContext, 'requests' | 'random' | 'faults' | 'receiver'> & { collections: Collections }) {
  const apiKeys = createApiKeys(collections);
  const createKey = async (kind: KeyKind, org: string) => (await apiKeys.create({ org, kind, label: 'bench' })).key;
  const { send } = shared.requests;
  const receivers: ClusterReceiver[] = [];
  const prepare = async (org: string, receiver: ClusterReceiver) => {
    receivers.push(receiver);
    const key = await createKey('api', org);
    await send('POST', '/webhooks/indexing', { key, body: { url: receiver.url } });
    // Signed callbacks carry the id of their delivery.
    await send('POST', '/webhooks/indexing/signing-secret', { key, body: {} });
    await send('POST', '/databases', { key, body: { database: DATABASE } });
    const isReady = async () =>
      (await send('GET', `/databases/status?database=${DATABASE}`, { key, startsWork: false })).body.data.infra
        .ready_for_ingestion;
    while (!(await isReady())) await wait(200);
    return key;
  };
  const key = await prepare('bench', shared.receiver);
  const context: LoadContext = { ...shared, createKey, key };
  const other = await neighbour(context, prepare);
  const kinds: LoadKind[] = [
    ...notes(context),
    files(context),
    replacements(context),
    jobs(context),
    await authentications(context),
    ...(await crews(context)),
    await connector(context),
    other,
    await hostile(context, prepare),
  ];
  return { kinds, delays: other.delays, receivers };
}

async function sendWhile(kind: LoadKind, isOn: () => boolean): Promise<void> {
  while (isOn()) {
    // A rejected request is on the list of violations.
    await kind.send().catch(() => undefined);
    await wait(kind.everyMs);
  }
}

async function check(
  running: Cluster,
  load: Load,
  shared: { collections: Collections; faults: FaultLog; requests: Requests },
  isRollout: boolean,
): Promise<string[]> {
  const { collections, faults, requests } = shared;
  const temporal = await connectTemporal(running.temporalAddress, 'default');
  try {
    const deadline = Date.now() + END_MS;
    const violations: string[] = [];
    const lacking = await Promise.all(
      load.kinds.map(async ({ name, missing }) =>
        (await emptied(name, missing, deadline)).map((what) => `${name}: ${what}`),
      ),
    );
    violations.push(...lacking.flat());
    violations.push(...(await emptied('what is stored', () => stuckWork(collections, temporal), deadline)));
    for (const kind of load.kinds)
      violations.push(...((await kind.violations?.()) ?? []).map((what) => `${kind.name}: ${what}`));
    const accepted = (name: string) => load.kinds.find((kind) => kind.name === name)!.accepted();
    violations.push(
      ...(await doubledWork(collections, {
        ai_jobs: accepted('jobs'),
        crew_executions: accepted('crews'),
        authentications: accepted('authentications'),
      })),
      ...(await failedWorkflows(temporal)),
      ...(isRollout ? await failedWorkflowTasks(temporal) : []),
      ...findDuplicates(load.receivers, faults).unexplained.map((what) => `a callback without a reason: ${what}`),
      ...faults.violations,
      ...requests.violations,
    );
    return violations;
  } finally {
    await temporal.connection.close();
  }
}

/** Waits until nothing is missing, and prints what it waits for. @returns what still is missing at the deadline */
async function emptied(name: string, missing: () => Promise<string[]>, deadline: number): Promise<string[]> {
  let printAt = Date.now() + PRINT_EVERY_MS;
  for (;;) {
    const lines = await missing().catch((error) => [(error as Error).message]);
    if (lines.length > 0 && Date.now() > printAt) {
      console.log(`${time(Date.now())}  waiting for ${name}: ${lines.length}, such as ${lines[0]}`);
      printAt = Date.now() + PRINT_EVERY_MS;
    }
    if (lines.length === 0 || Date.now() > deadline) {
      return lines.length > LINES ? [...lines.slice(0, LINES), `and ${lines.length - LINES} more`] : lines;
    }
    await wait(LOOK_EVERY_MS);
  }
}
