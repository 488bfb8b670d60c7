import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { Connection } from '@temporalio/client';
import { startChild } from '../../cli/child.js';
import { embedderSocket } from '../../cli/instance.js';
import { choosePorts, defaultCacheDir, obtainBinary, obtainEmbeddingModel } from '../../dev-stack/index.js';
import { startTemporalServer } from '../../dev-stack/temporal-server.js';
import { writeCrews } from '../support/crews.js';
import { startHttpBalancer } from './balancer.js';
import { startReplicaSet } from './mongodb.js';
import { answers, type Part, PROBE_MS } from './part.js';

export type Cluster = Awaited<ReturnType<typeof startCluster>>;

/** Short waits, so that a run of minutes sees every attempt. */
const SETTINGS = {
  OUTBOUND_ALLOW_CIDRS: '127.0.0.0/8',
  POSTBACK_RATE_LIMIT_PER_MINUTE: '0',
  POSTBACK_RATE_LIMIT_BURST: '0',
  POSTBACK_AUTHENTICATION_REQUESTS_PER_MINUTE: '100000',
  POSTBACK_AUTHENTICATION_SECONDS: '60',
  POSTBACK_RECONCILE_SECONDS: '10',
  POSTBACK_RECONCILE_QUIET_SECONDS: '20',
  POSTBACK_DELIVERY_TIMEOUT_MS: '5000',
  POSTBACK_DELIVERY_SCHEDULE_MS: '1000,2000,4000,8000,15000,30000,30000',
  POSTBACK_CALLBACK_SCHEDULE_MS: '1000,2000,4000,8000,15000,30000,30000',
};

const APIS = ['api-1', 'api-2'] as const;
const WORKERS = ['worker-1', 'worker-2'] as const;

/**
 * Starts the cluster: a Temporal server, a replica set of three, two APIs behind a balancer, two processes with a worker of
 * each task queue, and the embedding process.
 */
export async function startCluster() {
  const dir = mkdtempSync(join(tmpdir(), 'postback-cluster-'));
  const { env } = process;
  const cacheDir = defaultCacheDir(env);
  const log = (line: string) => console.error(`  ${line}`);
  const options = { dir, claimsDir: join(cacheDir, 'ports'), env, log };
  const stopSteps: (() => Promise<void> | void)[] = [() => rmSync(dir, { recursive: true, force: true })];
  const stop = async () => {
    for (const step of stopSteps.splice(0).reverse()) await step();
  };
  try {
    const binary = (name: 'mongod' | 'temporal') => obtainBinary(name, { cacheDir, env, log });
    const replicaSet = await startReplicaSet({ ...options, binary: await binary('mongod') });
    stopSteps.push(replicaSet.stop);
    const temporal = await startTemporalServer({ ...options, binary: await binary('temporal') });
    stopSteps.push(temporal.stop);
    const model = await obtainEmbeddingModel({ cacheDir, env, log });
    if ('unavailable' in model) throw new Error(`The bench needs the embedding model: ${model.unavailable}`);
    const crewsDir = join(dir, 'crews');
    writeCrews(crewsDir);
    const socket = embedderSocket(dir);
    stopSteps.push(socket.release);
    const settings = {
      ...env,
      ...SETTINGS,
      POSTBACK_EMBEDDING_MODEL_DIR: dirname(model.modelPath),
      TEMPORAL_ADDRESS: temporal.address,
      MONGODB_URI: replicaSet.uri,
      POSTBACK_SEALING_KEY: randomBytes(32).toString('base64'),
      POSTBACK_DATA_DIR: dir,
      POSTBACK_CREWS_DIR: crewsDir,
      POSTBACK_EMBEDDER_SOCKET: socket.path,
    };
    const names = [...APIS, ...WORKERS];
    const wanted = Object.fromEntries(names.map((name) => [name, 0])) as Record<(typeof names)[number], number>;
    const { ports, release } = await choosePorts(dir, options.claimsDir, wanted);
    stopSteps.push(release);
    const embedder = startProcess('embedder', 'embedder', settings, dir, log);
    stopSteps.push(embedder.stop);
    const apis = APIS.map((name) => {
      return startProcess('api', name, { ...settings, POSTBACK_API_PORT: `${ports[name]}` }, dir, log, ports[name]);
    });
    const workers = WORKERS.map((name) => {
      const own = { ...settings, POSTBACK_WORKER_HEALTH_PORT: `${ports[name]}` };
      return startProcess('worker', name, own, dir, log, ports[name]);
    });
    const product = [...apis, ...workers];
    stopSteps.push(async () => void (await Promise.all(product.map((part) => part.stop()))));
    await Promise.all(product.map(({ ready }) => ready));
    const balancer = await startHttpBalancer(
      APIS.map((name) => `127.0.0.1:${ports[name]}`),
      (address) => answers(`http://${address}/readyz`),
    );
    stopSteps.push(balancer.close);
    const server: Part = { name: 'temporal', pid: temporal.pid, isWell: () => responds(temporal.address) };
    return {
      apiUrl: `http://${balancer.address}`,
      mongodbUri: replicaSet.uri,
      temporalAddress: temporal.address,
      parts: [...product, embedder, ...replicaSet.parts, server] as Part[],
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** @param port where the process serves `/healthz`; absent for the embedding process, which is well when it runs */
function startProcess(
  kind: 'api' | 'worker' | 'embedder',
  name: string,
  env: NodeJS.ProcessEnv,
  dir: string,
  log: (line: string) => void,
  port?: number,
) {
  // With faults all the time, warnings are many: they are in the log of the process.
  const print = (line: string) => line.includes(' ended (') && log(`${name}: ${line}`);
  const child = startChild(kind, env, join(dir, name), print);
  const isWell = async () => port === undefined || answers(`http://127.0.0.1:${port}/healthz`);
  return { ...child, name, isWell };
}

/** Whether the Temporal server at this address serves requests. */
async function responds(address: string): Promise<boolean> {
  const connection = Connection.lazy({ address });
  try {
    // Asks the database, so a server without its database does not pass.
    const request = () => connection.workflowService.listNamespaces({ pageSize: 1 });
    await connection.withDeadline(Date.now() + PROBE_MS, request);
    return true;
  } catch {
    return false;
  } finally {
    await connection.close();
  }
}
