import { setTimeout as wait } from 'node:timers/promises';
import { type Collections, openCollections } from '../../storage/collections.js';
import { connectTemporal } from '../../temporal/connection.js';
import type { Figure } from '../support/results.js';
import { doubledWork, failedWorkflows, failedWorkflowTasks, findDuplicates, stuckWork } from './check.js';
import { createFaultLog, type FaultLog, time } from './faults.js';
import { type Load, prepareLoad, sendWhile } from './load/index.js';
import { createRandom } from './random.js';
import { sometimesWrong, startClusterReceiver } from './receiver.js';
import { figuresOf } from './report.js';
import { createRequests, type Requests } from './requests.js';

/** How long the work may take to end when the faults are over. */
const END_MS = 8 * 60_000;
const LOOK_EVERY_MS = 3_000;
const PRINT_EVERY_MS = 30_000;
/** How many lines of a kind are printed. */
const LINES = 20;

/** A product that runs, wherever its processes are. */
export interface Target {
  apiUrl: string;
  mongodbUri: string;
  temporalAddress: string;
}

export interface RunOptions {
  seed: number;
  /** The load lasts at least as long. */
  minutes: number;
  /**
   * What happens to the product meanwhile: faults, or a rollout. The load lasts until its end.
   * @param until milliseconds since 1970
   */
  change(faults: FaultLog, until: number): Promise<void>;
  /** The change is a rollout: nothing may fail, and the receiver accepts everything at once. */
  isRollout?: boolean;
  /** The pauses between pieces of work are so many times as long. */
  slowness?: number;
  print(line: string): void;
}

export interface RunOutcome {
  /** What was done and seen, by heading. */
  figures: Record<string, Figure[]>;
  /** Empty when nothing was lost, doubled without a reason, or is stuck. */
  violations: string[];
}

/** Runs a product under mixed load while it changes, waits for the end of the work, and checks what became of it. */
export async function runUnderLoad(
  target: Target,
  { seed, minutes, change, isRollout = false, slowness = 1, print }: RunOptions,
): Promise<RunOutcome> {
  const closing: (() => Promise<unknown>)[] = [];
  try {
    // Without indexes, which the processes create.
    const collections = await openCollections(target.mongodbUri, 'postback-bench');
    closing.unshift(() => collections.mongoClient.close());
    const receiver = await startClusterReceiver(isRollout ? () => 'accepts' : sometimesWrong);
    closing.unshift(receiver.close);
    const faults = createFaultLog();
    const requests = createRequests(target.apiUrl, faults);
    const load = await prepareLoad({ requests, random: createRandom(seed), faults, collections, receiver });
    for (const { close } of load.kinds) if (close) closing.unshift(close);
    const until = Date.now() + minutes * 60_000;
    let isOver = false;
    // A change can last longer than planned, and is under load until its end.
    const ended = change(faults, until).finally(() => {
      isOver = true;
    });
    const isOn = () => !isOver || Date.now() < until;
    await Promise.all([ended, ...load.kinds.map((kind) => sendWhile(kind, isOn, slowness))]);
    const loadEnd = Date.now();
    print(`${time(loadEnd)}  the load ends; waiting for the work that is accepted`);
    const violations = await check(target, load, { collections, faults, requests }, isRollout, print);
    const settledMs = Date.now() - loadEnd;
    return { figures: figuresOf({ ...load, delays: load.delays(), requests, faults, settledMs }), violations };
  } finally {
    for (const close of closing) await close().catch((error) => print(`  ${(error as Error).message}`));
  }
}

async function check(
  { temporalAddress }: Target,
  load: Load,
  { collections, faults, requests }: { collections: Collections; faults: FaultLog; requests: Requests },
  isRollout: boolean,
  print: (line: string) => void,
): Promise<string[]> {
  const temporal = await connectTemporal(temporalAddress, 'default');
  try {
    const deadline = Date.now() + END_MS;
    const violations: string[] = [];
    const lacking = await Promise.all(
      load.kinds.map(async ({ name, missing }) =>
        (await emptied(name, missing, deadline, print)).map((what) => `${name}: ${what}`),
      ),
    );
    violations.push(...lacking.flat());
    violations.push(...(await emptied('what is stored', () => stuckWork(collections, temporal), deadline, print)));
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
async function emptied(
  name: string,
  missing: () => Promise<string[]>,
  deadline: number,
  print: (line: string) => void,
): Promise<string[]> {
  let printAt = Date.now() + PRINT_EVERY_MS;
  for (;;) {
    const lines = await missing().catch((error) => [(error as Error).message]);
    if (lines.length > 0 && Date.now() > printAt) {
      print(`${time(Date.now())}  waiting for ${name}: ${lines.length}, such as ${lines[0]}`);
      printAt = Date.now() + PRINT_EVERY_MS;
    }
    if (lines.length === 0 || Date.now() > deadline) {
      return lines.length > LINES ? [...lines.slice(0, LINES), `and ${lines.length - LINES} more`] : lines;
    }
    await wait(LOOK_EVERY_MS);
  }
}
