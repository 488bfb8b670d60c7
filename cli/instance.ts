import { mkdtempSync, rmSync } from 'node:fs';
import { isIPv6 } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { choosePorts, defaultCacheDir, obtainEmbeddingModel, type Stack, startStack } from '../dev-stack/index.js';
import { readLocalModel } from '../providers/embeddings/local-model.js';
import { type Config, readConfig, settingsSchema } from '../runtime/config.js';
import { type Child, startChild } from './child.js';
import { sealingKey } from './data-folder.js';

/** A complete Postback on this machine: Temporal, MongoDB, an API process and a worker process. */
export interface Instance {
  apiUrl: string;
  stack: Stack;
  api: Child;
  worker: Child;
  /** Null without a local model, and when the settings name a process that runs. */
  embedder: Child | null;
  /** The environment of the processes. */
  env: NodeJS.ProcessEnv;
  /** Why there is no embedding model, so that search is full text only; null when there is one. */
  noModelReason: string | null;
  stop(): Promise<void>;
}

/**
 * Starts an instance and resolves when it is ready. When a part fails to start, the parts before it are stopped.
 * @param env the settings; servers whose address it names are used instead of started
 * @param print receives lines of progress, and warnings while the instance runs
 * @param stopped ends the wait early; the caller then calls `stop`
 */
export async function startInstance(
  env: NodeJS.ProcessEnv,
  print: (line: string) => void,
  stopped: Promise<void> = new Promise(() => undefined),
): Promise<Instance> {
  const config = readConfig(env);
  const dataDir = config.POSTBACK_DATA_DIR;
  const cacheDir = defaultCacheDir(env);
  const stack = await startStack({ dataDir, cacheDir, env, log: print });
  const stopSteps: (() => Promise<void> | void)[] = [() => stack.stop()];
  const stop = async () => {
    for (const step of stopSteps.splice(0).reverse()) await step();
  };
  try {
    const model = await embeddingModel(config, env, print);
    const hasEmbedder = config.POSTBACK_EMBEDDER_SOCKET !== undefined || config.POSTBACK_EMBEDDER_URL !== undefined;
    const address = model.isLocal && !hasEmbedder ? embedderAddress(config) : undefined;
    if (address) stopSteps.push(address.release);
    const port = { api: config.POSTBACK_API_PORT };
    // A port that the user names wins over that of the last run.
    const asked = env.POSTBACK_API_PORT ? port : {};
    const { ports, release } = await choosePorts(dataDir, join(cacheDir, 'ports'), port, asked);
    stopSteps.push(release);
    const apiUrl = httpUrl(config.POSTBACK_API_HOST, ports.api);
    const childEnv = {
      ...(stack.temporalUiUrl === null ? env : withoutTemporalSettings(env)),
      TEMPORAL_ADDRESS: stack.temporalAddress,
      MONGODB_URI: stack.mongodbUri,
      POSTBACK_SEALING_KEY: sealingKey(config),
      POSTBACK_DATA_DIR: dataDir,
      POSTBACK_API_PORT: String(ports.api),
      POSTBACK_PUBLIC_URL: config.POSTBACK_PUBLIC_URL ?? apiUrl,
      ...(stack.temporalUiUrl === null ? {} : { POSTBACK_TEMPORAL_UI_URL: stack.temporalUiUrl }),
      ...model.env,
      ...address?.env,
    };
    print('Starting API and workers');
    // Not awaited: without it, the product runs, and what needs it is retried.
    const embedder = address ? startChild('embedder', childEnv, dataDir, print) : null;
    if (embedder) stopSteps.push(embedder.stop);
    const api = startChild('api', childEnv, dataDir, print);
    const worker = startChild('worker', childEnv, dataDir, print);
    stopSteps.push(async () => {
      await Promise.all([api.stop(), worker.stop()]);
    });
    await Promise.race([Promise.all([api.ready, worker.ready]), stopped]);
    if (config.POSTBACK_WORKER_VERSIONING === 'on') {
      // The only workers of this instance have just started.
      const { promoteWorkers } = await import('./rollout.js');
      await promoteWorkers(readConfig(childEnv));
    }
    return { apiUrl, stack, api, worker, embedder, env: childEnv, noModelReason: model.reason, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** API key, namespace and certificates in the environment belong to another Temporal than the one started here. */
function withoutTemporalSettings(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const isTemporalSetting = (name: string) => name.startsWith('TEMPORAL_') && name in settingsSchema.shape;
  return Object.fromEntries(Object.entries(env).filter(([name]) => !isTemporalSetting(name)));
}

/** The settings by which the processes find the embedding model, or the reason why there is none. */
async function embeddingModel(config: Config, env: NodeJS.ProcessEnv, print: (line: string) => void) {
  const usesEndpoint = config.POSTBACK_EMBEDDINGS_URL !== undefined;
  if (usesEndpoint && config.POSTBACK_PREVIOUS_EMBEDDINGS_URL !== 'local') {
    return { env: {}, isLocal: false, reason: null };
  }
  const model = await obtainEmbeddingModel({ cacheDir: defaultCacheDir(env), env, log: print });
  if ('unavailable' in model) {
    const { unavailable } = model;
    if (usesEndpoint) return { env: {}, isLocal: false, reason: null };
    const env = { POSTBACK_EMBEDDINGS: 'off', POSTBACK_EMBEDDINGS_OFF_REASON: unavailable };
    return { env, isLocal: false, reason: unavailable };
  }
  const folder = dirname(model.modelPath);
  // An invalid description is reported here: otherwise each process would end with it.
  readLocalModel(folder);
  return { env: { POSTBACK_EMBEDDING_MODEL_DIR: folder }, isLocal: true, reason: null };
}

const httpUrl = (host: string, port: number) => `http://${isIPv6(host) ? `[${host}]` : host}:${port}`;

/** The settings by which the embedding process and its clients find each other: a port that the user names, else a socket. */
function embedderAddress(config: Config): { env: Record<string, string>; release(): void } {
  const { POSTBACK_EMBEDDER_HOST: host, POSTBACK_EMBEDDER_PORT: port, POSTBACK_DATA_DIR: dataDir } = config;
  if (port) return { env: { POSTBACK_EMBEDDER_URL: httpUrl(host, port) }, release: () => undefined };
  const { path, release } = embedderSocket(dataDir);
  // With port 0, the process would listen on a port that its clients do not know.
  return { env: { POSTBACK_EMBEDDER_SOCKET: path, POSTBACK_EMBEDDER_PORT: '' }, release };
}

/** The address of a Unix socket holds 104 bytes on macOS, 108 on Linux. */
const MAX_PATH_BYTES = 100;

/** @returns a path for the socket of the embedding process: in the data folder, or in a temporary one if that is too long */
export function embedderSocket(dataDir: string): { path: string; release(): void } {
  const path = join(dataDir, 'embedder.sock');
  if (Buffer.byteLength(path) <= MAX_PATH_BYTES) return { path, release: () => rmSync(path, { force: true }) };
  const folder = mkdtempSync(join(tmpdir(), 'postback-'));
  return { path: join(folder, 'embedder.sock'), release: () => rmSync(folder, { recursive: true, force: true }) };
}
