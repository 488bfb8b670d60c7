import { dirname, join } from 'node:path';
import { choosePorts, defaultCacheDir, obtainEmbeddingModel, type Stack, startStack } from '../dev-stack/index.js';
import { type Config, readConfig, settingsSchema } from '../runtime/config.js';
import { type Child, startChild } from './child.js';
import { sealingKey } from './sealing-key.js';

/** A whole Postback on this machine: two servers, an API process, a worker process. */
export interface Instance {
  apiUrl: string;
  stack: Stack;
  api: Child;
  worker: Child;
  /** What the processes were started with. */
  env: NodeJS.ProcessEnv;
  /** Why search is full text only; null when there is an embedding model. */
  noModel: string | null;
  stop(): Promise<void>;
}

/**
 * Starts everything and resolves when it answers. What has been started is stopped again when a later part fails.
 * @param env the settings; addresses named in it are used instead of starting a server
 * @param say takes lines of progress
 * @param stopped ends the waiting early; the caller then stops what is there
 */
export async function startInstance(
  env: NodeJS.ProcessEnv,
  say: (line: string) => void,
  stopped: Promise<void> = new Promise(() => undefined),
): Promise<Instance> {
  const config = readConfig(env);
  const dataDir = config.POSTBACK_DATA_DIR;
  const cacheDir = defaultCacheDir(env);
  const stack = await startStack({ dataDir, cacheDir, env, log: say });
  const undo: (() => Promise<void> | void)[] = [() => stack.stop()];
  const stop = async () => {
    for (const step of undo.splice(0).reverse()) await step();
  };
  try {
    const model = await modelFor(config, env, say);
    const { ports, release } = await choosePorts(dataDir, join(cacheDir, 'ports'), { api: config.POSTBACK_API_PORT });
    undo.push(release);
    const childEnv = {
      ...(stack.temporalUiUrl === null ? env : withoutTemporal(env)),
      TEMPORAL_ADDRESS: stack.temporalAddress,
      MONGODB_URI: stack.mongodbUri,
      POSTBACK_SEALING_KEY: sealingKey(config),
      POSTBACK_DATA_DIR: dataDir,
      POSTBACK_API_PORT: String(ports.api),
      ...model.env,
    };
    say('API and workers');
    const [api, worker] = [startChild('api', childEnv, dataDir, say), startChild('worker', childEnv, dataDir, say)];
    undo.push(async () => {
      await Promise.all([api.stop(), worker.stop()]);
    });
    await Promise.race([Promise.all([api.ready, worker.ready]), stopped]);
    const apiUrl = `http://${config.POSTBACK_API_HOST}:${ports.api}`;
    return { apiUrl, stack, api, worker, env: childEnv, noModel: model.reason, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** A key or a namespace in the environment is for another Temporal than the one that was started here. */
function withoutTemporal(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const isOfTemporal = (name: string) => name.startsWith('TEMPORAL_') && name in settingsSchema.shape;
  return Object.fromEntries(Object.entries(env).filter(([name]) => !isOfTemporal(name)));
}

/** Where the processes find the embedding model, or the reason why they go without. */
async function modelFor(config: Config, env: NodeJS.ProcessEnv, say: (line: string) => void) {
  if (config.POSTBACK_EMBEDDINGS_URL) return { env: {}, reason: null };
  const model = await obtainEmbeddingModel({ cacheDir: defaultCacheDir(env), env, log: say });
  if ('unavailable' in model) {
    const { unavailable } = model;
    return { env: { POSTBACK_EMBEDDINGS: 'off', POSTBACK_EMBEDDINGS_OFF_REASON: unavailable }, reason: unavailable };
  }
  return { env: { POSTBACK_EMBEDDING_MODEL_DIR: dirname(model.modelPath) }, reason: null };
}
