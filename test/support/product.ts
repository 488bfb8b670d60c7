import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { msToTs } from '@temporalio/common/lib/time.js';
import { startChild } from '../../cli/child.js';
import { type Instance, startInstance } from '../../cli/instance.js';
import { defaultCacheDir } from '../../dev-stack/index.js';
import { choosePorts } from '../../dev-stack/ports.js';
import { connectTemporal } from '../../temporal/connection.js';
import { eventually } from './eventually.js';

export { makeKey, withDb } from './mongodb.js';

/** How to reach a running product, in a form that can be passed to test processes. */
export interface ProductAddress {
  apiUrl: string;
  /** The health URL of the worker process. */
  workerUrl: string;
  temporalAddress: string;
  mongodbUri: string;
  dataDir: string;
  /** The Unix socket of the embedding process. */
  embedderSocket: string;
}

export interface Product extends ProductAddress, Instance {
  /** Stops the product and deletes its folder. */
  remove(): Promise<void>;
}

/** Settings of a Temporal that is not the product's: it starts its own, and does not use them there. */
const OTHER_TEMPORAL = { TEMPORAL_API_KEY: 'a-key', TEMPORAL_NAMESPACE: 'elsewhere' };

/** Modules that the processes load first; each says why. */
const PRELOADED = ['./late-optimisation.js', './no-names.js'];
const PRELOAD = {
  NODE_OPTIONS: [
    process.env.NODE_OPTIONS ?? '',
    ...PRELOADED.map((module) => `--import ${new URL(module, import.meta.url)}`),
  ]
    .join(' ')
    .trim(),
};

/** The token of the operator of the products that tests start. */
export const OPERATOR_TOKEN = 'operator-of-the-tests-0123456789';

/** On a busy machine an API process may read a request long after it was sent; tests of slow requests set their own limit. */
const PATIENT = { POSTBACK_SLOW_REQUEST_SECONDS: '120' };

/**
 * Starts servers, an API process and a worker process, with a folder of their own. About eight seconds of CPU.
 * @param settings an address in it is used instead of a server of its own; with a data folder, that product starts again
 */
export async function startProduct(settings: Record<string, string> = {}): Promise<Product> {
  const dataDir = settings.POSTBACK_DATA_DIR ?? mkdtempSync(join(tmpdir(), 'postback-test-'));
  const { ports, release } = await freePorts(dataDir, { worker: 0 });
  const env = {
    ...process.env,
    ...(settings.TEMPORAL_ADDRESS === undefined ? OTHER_TEMPORAL : {}),
    POSTBACK_DATA_DIR: dataDir,
    POSTBACK_API_PORT: '0',
    POSTBACK_WORKER_HEALTH_PORT: String(ports.worker),
    OUTBOUND_ALLOW_CIDRS: '127.0.0.0/8',
    // Tests send many requests; the rate limit is tested on a separate API process.
    POSTBACK_RATE_LIMIT_PER_MINUTE: '0',
    POSTBACK_RATE_LIMIT_BURST: '0',
    POSTBACK_FAILED_LOGINS_PER_MINUTE: '0',
    POSTBACK_PUBLISHABLE_REQUESTS_PER_MINUTE: '0',
    POSTBACK_REVIEW_REQUESTS_PER_MINUTE: '0',
    // A safety net only, because a run covers all databases: tests of the reconciler run it themselves (`reconcile`).
    POSTBACK_RECONCILE_SECONDS: '30',
    POSTBACK_RECONCILE_QUIET_SECONDS: '4',
    POSTBACK_SHUTDOWN_SECONDS: '5',
    POSTBACK_OPERATOR_TOKEN: OPERATOR_TOKEN,
    // The tests of all files share the processes that read files, pages and texts.
    POSTBACK_PARSER_IDLE_SECONDS: '300',
    ...PATIENT,
    ...PRELOAD,
    ...settings,
  };
  const print = process.env.POSTBACK_TEST_VERBOSE ? console.error : () => undefined;
  const instance = await startWithModel(env, print).catch((error) => {
    release();
    rmSync(dataDir, { recursive: true, force: true });
    throw error;
  });
  const { temporalAddress, mongodbUri } = instance.stack;
  const stop = async () => {
    await instance.stop();
    release();
  };
  const remove = async () => {
    await stop();
    rmSync(dataDir, { recursive: true, force: true });
  };
  const workerUrl = `http://127.0.0.1:${ports.worker}`;
  const embedderSocket = instance.env.POSTBACK_EMBEDDER_SOCKET!;
  return { ...instance, workerUrl, temporalAddress, mongodbUri, dataDir, embedderSocket, stop, remove };
}

/**
 * Starts an API and a worker process over the shared servers, with a namespace and a database of their own: for tests that need other
 * settings, or that break processes and storage but not the servers.
 * @param name of the namespace and the database
 */
export async function startProcesses(name: string, settings: Record<string, string> = {}): Promise<Product> {
  await createNamespace(sharedProduct().temporalAddress, name);
  return startProcessesAgain(name, settings);
}

/**
 * Starts processes over the shared servers in a namespace that exists.
 * @param settings with the data folder of processes that have stopped, these continue with their data
 */
export async function startProcessesAgain(name: string, settings: Record<string, string>): Promise<Product> {
  const { temporalAddress, mongodbUri, embedderSocket } = sharedProduct();
  const product = await startProduct({
    TEMPORAL_ADDRESS: temporalAddress,
    TEMPORAL_NAMESPACE: name,
    MONGODB_URI: databaseBeside(mongodbUri, name),
    POSTBACK_EMBEDDER_SOCKET: embedderSocket,
    ...settings,
  });
  const remove = async () => {
    await product.remove();
    await removeSchedules(temporalAddress, name);
  };
  return { ...product, remove };
}

/** Removes the schedules of a namespace. Without workers they would cost the server a twentieth of a core. */
export async function removeSchedules(temporalAddress: string, namespace: string): Promise<void> {
  const { schedule, connection } = await connectTemporal(temporalAddress, namespace);
  for await (const { scheduleId } of schedule.list()) await schedule.getHandle(scheduleId).delete();
  await connection.close();
}

export async function createNamespace(temporalAddress: string, namespace: string): Promise<void> {
  const { workflowService, connection } = await connectTemporal(temporalAddress, namespace);
  await workflowService.registerNamespace({ namespace, workflowExecutionRetentionPeriod: msToTs('1 day') });
  await eventually(`namespace ${namespace}`, () => workflowService.describeNamespace({ namespace }));
  await connection.close();
}

async function startWithModel(env: NodeJS.ProcessEnv, print: (line: string) => void): Promise<Instance> {
  const instance = await startInstance(env, print);
  if (instance.noModelReason === null || env.POSTBACK_EMBEDDINGS === 'off') return instance;
  await instance.stop();
  throw new Error(`the tests need the embedding model: ${instance.noModelReason}`);
}

/** Ports that no other stack of this user takes before they are used. */
export function freePorts<Name extends string>(dataDir: string, names: Record<Name, number>) {
  return choosePorts(dataDir, join(defaultCacheDir(process.env), 'ports'), names);
}

/** Starts a second API process with other settings on the servers of a running product. */
export async function startApi(product: ProductAddress, settings: Record<string, string>) {
  const dataDir = mkdtempSync(join(tmpdir(), 'postback-test-api-'));
  const { ports, release } = await freePorts(dataDir, { api: 0 });
  const env = {
    ...process.env,
    TEMPORAL_ADDRESS: product.temporalAddress,
    MONGODB_URI: product.mongodbUri,
    POSTBACK_DATA_DIR: dataDir,
    POSTBACK_API_PORT: String(ports.api),
    POSTBACK_SEALING_KEY: Buffer.alloc(32, 7).toString('base64'),
    POSTBACK_EMBEDDINGS: 'off',
    ...PATIENT,
    ...settings,
  };
  const child = startChild('api', env, dataDir, () => undefined);
  await child.ready;
  return {
    apiUrl: `http://127.0.0.1:${ports.api}`,
    log: () => readFileSync(join(dataDir, 'logs', 'api.log'), 'utf8'),
    async stop() {
      await child.stop();
      release();
      rmSync(dataDir, { recursive: true, force: true });
    },
  };
}

/** The product that all end-to-end tests share; each test uses its own organisation. */
export function sharedProduct(): ProductAddress {
  return JSON.parse(process.env.POSTBACK_TEST_PRODUCT!) as ProductAddress;
}

/** A database on the product's MongoDB server, unused by the product and its reconciler. */
export function databaseBeside(mongodbUri: string, name: string): string {
  const uri = new URL(mongodbUri);
  uri.pathname = `/${name}`;
  return uri.toString();
}
