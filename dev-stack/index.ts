import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { obtainBinary } from './binaries.js';
import type { Env, Log } from './fetching.js';
import { startMongod } from './mongod.js';
import { type SearchAttributeType, startTemporalServer } from './temporal-server.js';

export { defaultCacheDir } from './binaries.js';
export type { Env, Log } from './fetching.js';
export { AlreadyRunningError, acquireInstanceLock, type InstanceLock } from './instance-lock.js';
export { type EmbeddingModel, obtainEmbeddingModel } from './model.js';
export type { SearchAttributeType } from './temporal-server.js';
export { obtainTestServer } from './test-server.js';

export interface StackOptions {
  /** Holds all data, logs and ports of the started servers, usually `.postback/`. */
  readonly dataDir: string;
  /** Holds the fetched binaries, shared by all checkouts; see `defaultCacheDir`. */
  readonly cacheDir: string;
  readonly env: Env;
  readonly searchAttributes: Readonly<Record<string, SearchAttributeType>>;
  readonly log: Log;
}

export interface Stack {
  /** `host:port` */
  readonly temporalAddress: string;
  /** Null for a Temporal that was not started here: only its operator knows where its UI is. */
  readonly temporalUiUrl: string | null;
  /** Prometheus counters of the Temporal started here. */
  readonly temporalMetricsUrl: string | null;
  readonly mongodbUri: string;
  readonly startedPids: readonly number[];
  /** Resolves with an explanation when one that was started here has ended, asked to or not. */
  readonly ended: Promise<string>;
  /** Ends what was started here and nothing else. May be called again. */
  stop(): Promise<void>;
}

interface Started {
  readonly pid: number;
  readonly ended: Promise<string>;
  stop(): Promise<void>;
}

/**
 * Gives a running Temporal and MongoDB: those named in the environment (TEMPORAL_ADDRESS, MONGODB_URI), else servers
 * started on loopback. When one of them fails, the other is ended again and the failure thrown.
 */
export async function startStack({ dataDir, cacheDir, env, searchAttributes, log }: StackOptions): Promise<Stack> {
  mkdirSync(dataDir, { recursive: true });
  const claimsDir = join(cacheDir, 'ports');
  const started: Started[] = [];
  const ends: Promise<string>[] = [];
  const onLeash = <Server extends Started>(title: string, server: Server): Server => {
    started.push(server);
    ends.push(server.ended.then((reason) => `${title} ${reason}`));
    return server;
  };

  async function temporal() {
    if (env.TEMPORAL_ADDRESS) {
      log(`Temporal: ${env.TEMPORAL_ADDRESS} (TEMPORAL_ADDRESS)`);
      return { address: env.TEMPORAL_ADDRESS, uiUrl: null, metricsUrl: null };
    }
    const binary = await obtainBinary('temporal', { cacheDir, env, log });
    return onLeash(
      'Temporal',
      await startTemporalServer({ binary, dir: dataDir, claimsDir, env, searchAttributes, log }),
    );
  }
  async function mongodb() {
    if (env.MONGODB_URI) {
      log('MongoDB: the one in MONGODB_URI');
      return { uri: env.MONGODB_URI };
    }
    const binary = await obtainBinary('mongod', { cacheDir, env, log });
    return onLeash('MongoDB', await startMongod({ binary, dir: dataDir, claimsDir, env, log }));
  }

  let stopping: Promise<unknown> | undefined;
  const stop = async () => {
    stopping ??= Promise.all(started.map((server) => server.stop()));
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
    startedPids: started.map(({ pid }) => pid),
    ended: Promise.race(ends),
    stop,
  };
}
