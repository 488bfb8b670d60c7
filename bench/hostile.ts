import { setMaxListeners } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { choosePorts, defaultCacheDir } from '../dev-stack/index.js';
import type { HostileCase, Respond, Target } from './hostile/case.js';
import { HOSTILE_CASES } from './hostile/cases.js';
import { watchMemory } from './hostile/memory.js';
import { createNeighbour, type Neighbour } from './hostile/neighbour.js';
import { startProbe } from './hostile/probe.js';
import { serveForeign } from './hostile/serve.js';
import { type CaseResult, printCase, printHeading, printSummary } from './hostile/table.js';
import { prepareTools } from './hostile/tools.js';
import type { ApiAccess } from './support/api-client.js';
import { type BenchInstance, startBenchInstance } from './support/instance.js';
import { percentile } from './support/measure.js';
import { createDatabase } from './support/work.js';

const QUIET_NOTES = 15;
/** A case that takes longer is recorded as it is then. */
const CASE_MS = 45_000;
/** Time for the queues to become empty between two cases. */
const SETTLE_MS = 60_000;

/**
 * Runs hostile requests, files, sites and receivers one after the other, and measures what each costs the others.
 * @param filter a pattern: runs only the cases whose names it matches
 */
export async function hostile(filter = ''): Promise<void> {
  const cases = HOSTILE_CASES.filter(({ name }) => new RegExp(filter).test(name));
  if (cases.length === 0) throw new Error(`no case's name matches "${filter}"`);
  const folder = mkdtempSync(join(tmpdir(), 'postback-bench-'));
  const { ports, release } = await choosePorts(folder, join(defaultCacheDir(process.env), 'ports'), { worker: 0 });
  const tools = await prepareTools();
  const instance = await startBenchInstance({
    POSTBACK_CREWS_DIR: tools.crewsDir,
    POSTBACK_WORKER_HEALTH_PORT: String(ports.worker),
    POSTBACK_RECONCILE_QUIET_SECONDS: '10',
  });
  const probes = {
    api: await startProbe(`${instance.apiUrl}/healthz`, instance.pids.api),
    worker: await startProbe(`http://127.0.0.1:${ports.worker}/healthz`, instance.pids.worker),
  };
  const memory = watchMemory(instance.pids);
  const neighbour = await createNeighbour(await accessOf(instance, 'neighbour'));
  try {
    const attacker = await accessOf(instance, 'hostile');
    await createDatabase(attacker, 'hostile');
    await neighbour.sendNotes(QUIET_NOTES);
    const quiet = await neighbour.sendNotes(QUIET_NOTES);
    const quietMs = percentile(quiet, 0.5);
    printHeading(quietMs, Math.max(...quiet));
    const results: CaseResult[] = [];
    for (const hostileCase of cases) {
      const result = await measure(hostileCase);
      printCase(result);
      results.push(result);
      await settle(neighbour, quietMs);
    }
    printSummary(results, quietMs);

    async function measure({ name, prepare }: HostileCase): Promise<CaseResult> {
      const foreign: (() => Promise<void>)[] = [];
      const ended = new AbortController();
      // A case may send thousands of requests that end with it.
      setMaxListeners(0, ended.signal);
      const target = targetOf(instance, attacker, ended.signal, async (respond) => {
        const server = await serveForeign(respond);
        foreign.push(server.close);
        return server.url;
      });
      const attack = await prepare(target);
      await Promise.all([probes.api.take(), probes.worker.take()]);
      memory.take();
      const deadline = setTimeout(() => ended.abort(), CASE_MS);
      let running = true;
      const outcome = attack()
        .catch((error) => `failed: ${error.message}`)
        .finally(() => {
          running = false;
        });
      const notes: number[] = [];
      do notes.push(await neighbour.sendNote());
      while (running);
      clearTimeout(deadline);
      const result = {
        name,
        outcome: await outcome,
        api: await probes.api.take(),
        worker: await probes.worker.take(),
        noteMs: Math.max(...notes),
        memory: memory.take(),
      };
      ended.abort();
      for (const close of foreign) await close();
      return result;
    }
  } finally {
    memory.stop();
    await Promise.all([probes.api.stop(), probes.worker.stop(), neighbour.close()]);
    await instance.stop();
    await tools.close();
    release();
    rmSync(folder, { recursive: true });
  }
}

async function accessOf(instance: BenchInstance, org: string): Promise<ApiAccess> {
  return { apiUrl: instance.apiUrl, key: await instance.createKey('api', org) };
}

function targetOf(
  { createKey }: BenchInstance,
  access: ApiAccess,
  signal: AbortSignal,
  serve: (respond: Respond) => Promise<string>,
): Target {
  const { hostname, port } = new URL(access.apiUrl);
  return { ...access, host: hostname, port: Number(port), database: 'hostile', createKey, serve, signal };
}

/** Waits until a note is as fast as before, so that a case does not pay for the one before it. */
async function settle(neighbour: Neighbour, quietMs: number): Promise<void> {
  const until = performance.now() + SETTLE_MS;
  do await wait(500);
  while ((await neighbour.sendNote()) > quietMs * 2 + 500 && performance.now() < until);
}
