import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { obtainBinary } from './binaries.js';
import type { Env, Log } from './downloads.js';
import { startMongod } from './mongod.js';
import type { RestartingServer } from './restarting-server.js';
import { startTemporalServer } from './temporal-server.js';

export { defaultCacheDir } from '../runtime/cache-dir.js';
export { obtainBinary } from './binaries.js';
export type { Env, Log } from './downloads.js';
export { obtainEmbeddingModel } from './embedding-model.js';
export { choosePorts } from './ports.js';
export { acquireProcessLock } from './process-lock.js';
export { obtainRecogniser } from './recogniser.js';

export interface StackOptions {
  /** Holds all data, logs and ports of the started servers, usually `.postback/`. */
  readonly dataDir: string;
  /** Holds the downloaded binaries, shared by all checkouts; see `defaultCacheDir`. */
  readonly cacheDir: string;
  readonly env: Env;
  readonly log: Log;
}

export interface Stack {
  /** `host:port` */
  readonly temporalAddress: string;
  /** Null for a Temporal server that was not started here: its UI address is unknown. */
  readonly temporalUiUrl: string | null;
  /** Prometheus counters of the Temporal server started here. */
  readonly temporalMetricsUrl: string | null;
  readonly mongodbUri: string;
  /** The servers that were started here. */
  readonly servers: Partial<Record<'temporal' | 'mongodb', Pick<RestartingServer, 'pid' | 'failed'>>>;
  /** Resolves with an explanation when a server that was started here cannot be kept running. */
  readonly failed: Promise<string>;
  /** Stops the servers that were started here. May be called again. */
  stop(): Promise<void>;
}

/**
 * Provides a running Temporal and MongoDB: those named in the environment (TEMPORAL_ADDRESS, MONGODB_URI), else servers
 * started on loopback, and started again when they end. When one of them fails to start, the other is stopped.
 * @throws Error with the reason of each failure
 */
export async function startStack({ dataDir, cacheDir, env, log }: StackOptions): Promise<Stack> {
  mkdirSync(dataDir, { recursive: true });
  const claimsDir = join(cacheDir, 'ports');
  const servers: Partial<Record<keyof Stack['servers'], RestartingServer>> = {};
  const track = <Server extends RestartingServer>(name: keyof typeof servers, server: Server): Server => {
    servers[name] = server;
    return server;
  };

  async function temporal() {
    if (env.TEMPORAL_ADDRESS) {
      log(`Temporal: ${env.TEMPORAL_ADDRESS} (TEMPORAL_ADDRESS)`);
      return { address: env.TEMPORAL_ADDRESS, uiUrl: null, metricsUrl: null };
    }
    const binary = await obtainBinary('temporal', { cacheDir, env, log });
    return track('temporal', await startTemporalServer({ binary, dir: dataDir, claimsDir, env, log }));
  }
  async function mongodb() {
    if (env.MONGODB_URI) {
      log('MongoDB: the server in MONGODB_URI');
      return { uri: env.MONGODB_URI };
    }
    const binary = await obtainBinary('mongod', { cacheDir, env, log });
    return track('mongodb', await startMongod({ binary, dir: dataDir, claimsDir, env, log }));
  }

  let stopping: Promise<unknown> | undefined;
  const stop = async () => {
    stopping ??= Promise.all(Object.values(servers).map((server) => server.stop()));
    await stopping;
  };
  const [temporalResult, mongodbResult] = await Promise.allSettled([temporal(), mongodb()]);
  if (temporalResult.status === 'rejected' || mongodbResult.status === 'rejected') {
    await stop();
    const failures = [temporalResult, mongodbResult].filter((result) => result.status === 'rejected');
    throw new Error(failures.map(({ reason }) => (reason as Error).message).join('\n\n'));
  }
  return {
    temporalAddress: temporalResult.value.address,
    temporalUiUrl: temporalResult.value.uiUrl,
    temporalMetricsUrl: temporalResult.value.metricsUrl,
    mongodbUri: mongodbResult.value.uri,
    servers,
    failed: Promise.race(Object.values(servers).map(({ failed }) => failed)),
    stop,
  };
}
