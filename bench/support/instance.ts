import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startInstance } from '../../cli/instance.js';
import type { KeyKind } from '../../domain/api-keys.js';
import { createApiKeys } from '../../storage/api-keys.js';
import { connectCollections } from '../../storage/collections.js';
import { childrenOf } from './process-memory.js';

export type BenchInstance = Awaited<ReturnType<typeof startBenchInstance>>;

/**
 * Starts a complete product in a temporary folder: real servers, real processes. Its key belongs to the organisation
 * `bench`.
 * @param settings by environment variable
 */
export async function startBenchInstance(settings: NodeJS.ProcessEnv = {}) {
  const dataDir = mkdtempSync(join(tmpdir(), 'postback-bench-'));
  const env = {
    ...process.env,
    POSTBACK_DATA_DIR: dataDir,
    POSTBACK_API_PORT: '0',
    OUTBOUND_ALLOW_CIDRS: '127.0.0.0/8',
    POSTBACK_RATE_LIMIT_PER_MINUTE: '0',
    POSTBACK_RATE_LIMIT_BURST: '0',
    ...settings,
  };
  const instance = await startInstance(env, (line) => console.error(`  ${line}`));
  const { stack, api, worker, embedder } = instance;
  const collections = await connectCollections(stack.mongodbUri, 'postback-bench');
  const createKey = async (kind: KeyKind, org = 'bench') =>
    (await createApiKeys(collections).create({ org, kind, label: 'bench' })).key;
  return {
    apiUrl: instance.apiUrl,
    key: await createKey('api'),
    createKey,
    env: instance.env,
    collections,
    temporalAddress: stack.temporalAddress,
    temporalMetricsUrl: stack.temporalMetricsUrl,
    dataDir,
    /** Kills a process, which is then restarted as after a crash. @returns false when it was not running */
    kill(name: 'api' | 'worker'): boolean {
      try {
        return process.kill((name === 'api' ? api : worker).pid(), 'SIGKILL');
      } catch {
        return false;
      }
    },
    /** Ids of the current processes. */
    pids: { api: api.pid, worker: worker.pid },
    embedderPid: (): number | undefined => embedder?.pid(),
    /** Of Temporal and MongoDB. */
    serverPids: () => Object.values(stack.servers).map(({ pid }) => pid()),
    /** Peak memory so far, MiB. */
    peakMemory: () => ({ api: peakMiB(api.pid()), worker: peakMiB(worker.pid()) }),
    /** Processor time of each process so far, by its name. */
    async processorTimes(): Promise<Record<string, number>> {
      const pids = {
        api: api.pid(),
        worker: worker.pid(),
        ...(embedder ? { embedder: embedder.pid() } : {}),
        mongod: stack.servers.mongodb?.pid() ?? Number.NaN,
        temporal: stack.servers.temporal?.pid() ?? Number.NaN,
      };
      const times = Object.fromEntries(Object.entries(pids).map(([name, pid]) => [name, cpuMs(pid)]));
      return { ...times, parsers: childrenOf(worker.pid()).reduce((sum, pid) => sum + cpuMs(pid), 0) };
    },
    async stop(): Promise<void> {
      await collections.mongoClient.close();
      await instance.stop();
      rmSync(dataDir, { recursive: true, force: true });
    },
  };
}

/** Processor time of a process with all its threads, from /proc in ticks of 10 ms; NaN without /proc. */
export function cpuMs(pid: number): number {
  try {
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)!.split(' ');
    return (Number(fields[11]) + Number(fields[12])) * 10;
  } catch {
    return Number.NaN;
  }
}

/** Peak memory (`VmHWM`) of a process, from /proc; NaN without /proc. */
export function peakMiB(pid: number): number {
  try {
    const line = /VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'));
    return line ? Math.round(Number(line[1]) / 1024) : Number.NaN;
  } catch {
    return Number.NaN;
  }
}
