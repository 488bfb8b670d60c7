import { randomBytes } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Child, startChild } from '../../cli/child.js';
import { embedderSocket } from '../../cli/instance.js';
import { choosePorts, defaultCacheDir, obtainBinary, obtainEmbeddingModel } from '../../dev-stack/index.js';
import { obtainOpenSearch } from '../../dev-stack/opensearch/files.js';
import { startOpenSearch } from '../../dev-stack/opensearch/server.js';
import { startTemporalServer } from '../../dev-stack/temporal-server.js';
import { writeCrews } from '../support/crews.js';
import { startHttpBalancer } from './balancer.js';
import { obtainGoProgram } from './binaries.js';
import { DIRECT, type Links, startLinks } from './links.js';
import { startReplicaSet } from './mongodb.js';
import { answers, type Part } from './part.js';
import { startPostgres } from './postgres.js';
import { startObjectStorage } from './s3.js';
import { responds, startTemporalPair } from './temporal.js';

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

type Kind = 'api' | 'worker' | 'embedder';

/** A process of the product. */
export interface ProductPart extends Part {
  kind: Kind;
  /** Stops it and starts it again at the same place, with this code. */
  replace(code: string | undefined): Promise<void>;
}

/**
 * Starts the cluster: Temporal, a replica set of three, two APIs behind a balancer, two workers of each task queue and the
 * embedding process; unless embedded also PostgreSQL, an S3-compatible server, OpenSearch where Java is, and proxies
 * between all of them.
 * @param code of the product: the compiled code of another release, or undefined for this code
 */
export async function startCluster({ embedded, code }: { embedded: boolean; code?: string | undefined }) {
  const dir = mkdtempSync(join(tmpdir(), 'postback-cluster-'));
  const { env } = process;
  const cacheDir = defaultCacheDir(env);
  const log = (line: string) => console.error(`  ${line}`);
  const options = { dir, claimsDir: join(cacheDir, 'ports'), env, log };
  const fetchOptions = { cacheDir, env, log };
  const stopSteps: (() => Promise<void> | void)[] = [() => rmSync(dir, { recursive: true, force: true })];
  const stop = async () => {
    for (const step of stopSteps.splice(0).reverse()) await step();
  };
  try {
    const links = embedded ? DIRECT : await startProxies();
    stopSteps.push(links.stop);
    const mongod = await obtainBinary('mongod', fetchOptions);
    const replicaSet = await startReplicaSet({ ...options, binary: mongod }, links);
    stopSteps.push(replicaSet.stop);
    const temporal = embedded ? await startDevServer() : await startPair(links);
    const storage = embedded ? null : await startObjectStorage(options, links);
    if (storage) stopSteps.push(storage.stop);
    const search = embedded ? null : await startSearch(links);
    const crewsDir = join(dir, 'crews');
    writeCrews(crewsDir);
    const socket = embedderSocket(dir);
    stopSteps.push(socket.release);
    const settings = {
      ...env,
      ...SETTINGS,
      ...storage?.settings,
      ...search?.settings,
      ...(await modelSettings()),
      TEMPORAL_ADDRESS: temporal.address,
      MONGODB_URI: replicaSet.uri,
      POSTBACK_SEALING_KEY: randomBytes(32).toString('base64'),
      POSTBACK_DATA_DIR: dir,
      POSTBACK_CREWS_DIR: crewsDir,
      POSTBACK_EMBEDDER_SOCKET: socket.path,
    };
    const names = ['api-1', 'api-2', 'worker-1', 'worker-2'] as const;
    const { ports, release } = await choosePorts(
      dir,
      options.claimsDir,
      Object.fromEntries(names.map((name) => [name, 0])) as Record<(typeof names)[number], number>,
    );
    stopSteps.push(release);
    const start = async (kind: Kind, name: string, port?: number) => {
      // A worker that is cut off loses Temporal, and continues what it has begun.
      const link = kind === 'worker' && links.canFail ? `${name} to temporal` : undefined;
      const own = link === undefined ? {} : { TEMPORAL_ADDRESS: await links.add(link, temporal.address) };
      return { ...startProductPart({ kind, name, port, dir, settings: { ...settings, ...own }, log, code }), link };
    };
    const embedder = await start('embedder', 'embedder');
    stopSteps.push(embedder.stop);
    const product = await Promise.all(
      names.map((name) => start(name.startsWith('api') ? 'api' : 'worker', name, ports[name])),
    );
    stopSteps.push(async () => void (await Promise.all(product.map((part) => part.stop()))));
    await Promise.all(product.map(({ ready }) => ready()));
    const apis = product.filter(({ kind }) => kind === 'api');
    for (const [at, api] of apis.entries()) {
      api.address = await links.add(api.name, `127.0.0.1:${ports[names[at]!]}`);
      if (links.canFail) api.link = api.name;
    }
    const balancer = await startHttpBalancer(
      apis.map(({ address }) => address!),
      (address) => answers(`http://${address}/readyz`),
    );
    stopSteps.push(balancer.close);
    const servers: Part[] = [
      ...replicaSet.parts,
      ...temporal.parts,
      ...(storage ? [storage.part] : []),
      ...(search ? [search.part] : []),
    ];
    return {
      dir,
      links,
      apiUrl: `http://${balancer.address}`,
      balancer,
      mongodbUri: replicaSet.uri,
      temporalAddress: temporal.address,
      settings,
      product: [...product, embedder],
      parts: [...product, embedder, ...servers],
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }

  async function startProxies(): Promise<Links> {
    return startLinks({ ...options, binary: await obtainGoProgram('toxiproxy-server', fetchOptions) });
  }

  async function startDevServer() {
    const binary = await obtainBinary('temporal', fetchOptions);
    const server = await startTemporalServer({ ...options, binary });
    stopSteps.push(server.stop);
    const part: Part = { name: 'temporal', pid: server.pid, isWell: () => responds(server.address) };
    return { address: server.address, parts: [part] };
  }

  async function startPair(links: Links) {
    const server = await obtainGoProgram('temporal-server', fetchOptions);
    const sqlTool = await obtainGoProgram('temporal-sql-tool', fetchOptions);
    const postgres = await startPostgres(options, links);
    stopSteps.push(postgres.stop);
    const pair = await startTemporalPair({ server, sqlTool }, options, postgres, links);
    stopSteps.push(pair.stop);
    return { address: pair.address, parts: [...pair.parts, postgres.part] };
  }

  async function startSearch(links: Links) {
    const files = await obtainOpenSearch(fetchOptions);
    if ('unavailable' in files) {
      log(`OpenSearch is left out: ${files.unavailable}`);
      return null;
    }
    const folder = join(dir, 'opensearch');
    mkdirSync(folder, { recursive: true });
    const server = await startOpenSearch({ ...files, dir: folder, claimsDir: options.claimsDir, env, heapMb: 512 });
    stopSteps.push(server.stop);
    const address = await links.add('opensearch', new URL(server.url).host);
    const part: Part = {
      name: 'opensearch',
      pid: () => server.pid,
      isWell: () => answers(server.url),
      link: 'opensearch',
      restarts: false,
    };
    return { part, settings: { POSTBACK_SEARCH_URL: `http://${address}` } };
  }

  async function modelSettings() {
    const model = await obtainEmbeddingModel(fetchOptions);
    if ('unavailable' in model) throw new Error(`The bench needs the embedding model: ${model.unavailable}`);
    return { POSTBACK_EMBEDDING_MODEL_DIR: join(model.modelPath, '..') };
  }
}

interface ProductOptions {
  kind: Kind;
  name: string;
  port: number | undefined;
  dir: string;
  settings: NodeJS.ProcessEnv;
  log: (line: string) => void;
  code: string | undefined;
}

function startProductPart({ kind, name, port, dir, settings, log, code }: ProductOptions) {
  const portSetting = kind === 'api' ? 'POSTBACK_API_PORT' : 'POSTBACK_WORKER_HEALTH_PORT';
  const env = port === undefined ? settings : { ...settings, [portSetting]: `${port}` };
  // The log has the warnings; with faults all the time there are many.
  const quiet = (line: string) => line.includes(' ended (') && log(`${name}: ${line}`);
  const start = (of: string | undefined): Child => startChild(kind, env, join(dir, name), quiet, of);
  let child = start(code);
  const health = port === undefined ? null : `http://127.0.0.1:${port}/healthz`;
  return {
    kind,
    name,
    address: undefined as string | undefined,
    pid: () => child.pid(),
    isWell: async () => (health === null ? true : answers(health)),
    ready: () => child.ready,
    stop: () => child.stop(),
    async replace(of: string | undefined) {
      await child.stop();
      child = start(of);
      await child.ready;
    },
  };
}
