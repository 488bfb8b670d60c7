import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startInstance } from '../cli/instance.js';
import { createApiKeys } from '../storage/api-keys.js';
import { type Collections, connectCollections } from '../storage/collections.js';

export type BenchInstance = Awaited<ReturnType<typeof startBenchInstance>>;

/** A whole product in a temporary folder: real servers, real processes. @param settings by environment variable */
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
  const { stack, api, worker } = instance;
  const collections: Collections = await connectCollections(stack.mongodbUri, 'postback-bench');
  const { key } = await createApiKeys(collections).create({ org: 'bench', kind: 'api', label: 'bench' });
  return {
    apiUrl: instance.apiUrl,
    key,
    env: instance.env,
    collections,
    temporalAddress: stack.temporalAddress,
    temporalMetricsUrl: stack.temporalMetricsUrl,
    dataDir,
    /** At once, as by a crash; its supervisor starts it again. @returns false when it was not running at the moment */
    kill(name: 'api' | 'worker'): boolean {
      try {
        return process.kill((name === 'api' ? api : worker).pid(), 'SIGKILL');
      } catch {
        return false;
      }
    },
    /** Most memory held so far, MiB. */
    peakMemory: () => ({ api: peakMiB(api.pid()), worker: peakMiB(worker.pid()) }),
    /** Processor time the API has used so far, milliseconds on one core. */
    apiCpu: () => cpuMs(api.pid()),
    /** The same of each process, by its name. */
    async processorTimes(): Promise<Record<string, number>> {
      const { pid: mongod } = await collections.mongoClient.db('admin').command({ serverStatus: 1 });
      const temporal = stack.startedPids.filter((pid) => pid !== Number(mongod));
      const pids = {
        api: api.pid(),
        worker: worker.pid(),
        mongod: Number(mongod),
        temporal: temporal[0] ?? Number.NaN,
      };
      return Object.fromEntries(Object.entries(pids).map(([name, pid]) => [name, cpuMs(pid)]));
    },
    async stop(): Promise<void> {
      await collections.mongoClient.close();
      await instance.stop();
      rmSync(dataDir, { recursive: true, force: true });
    },
  };
}

/** Of a process with all its threads, where the system tells it (in ticks of 10 ms); else NaN. */
function cpuMs(pid: number): number {
  try {
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)!.split(' ');
    return (Number(fields[11]) + Number(fields[12])) * 10;
  } catch {
    return Number.NaN;
  }
}

/** `VmHWM` of a process, where the system tells it; else NaN. */
function peakMiB(pid: number): number {
  try {
    const line = /VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'));
    return line ? Math.round(Number(line[1]) / 1024) : Number.NaN;
  } catch {
    return Number.NaN;
  }
}
