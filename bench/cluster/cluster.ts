import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { embedderSocket } from '../../cli/instance.js';
import { defaultCacheDir, obtainEmbeddingModel } from '../../dev-stack/index.js';
import { writeCrews } from '../support/crews.js';
import { startHttpBalancer } from './balancer.js';
import { answers } from './part.js';
import { type ProductKind, startProductPart } from './product.js';
import { startServers } from './servers.js';
import { SETTINGS } from './settings.js';

export type Cluster = Awaited<ReturnType<typeof startCluster>>;

/**
 * Starts the cluster: Temporal, a replica set of three, two APIs behind a balancer, two processes with a worker of each task
 * queue, and the embedding process; unless embedded also PostgreSQL, an S3-compatible server, OpenSearch where Java is, and
 * proxies between all of them.
 * @param code of the product: the compiled code of another release, whose workers then have versions; undefined: this code
 */
export async function startCluster({ embedded, code }: { embedded: boolean; code?: string | undefined }) {
  const dir = mkdtempSync(join(tmpdir(), 'postback-cluster-'));
  const { env } = process;
  const cacheDir = defaultCacheDir(env);
  const log = (line: string) => console.error(`  ${line}`);
  const options = { dir, claimsDir: join(cacheDir, 'ports'), cacheDir, env, log };
  let isKept = false;
  const removeFolder = () => {
    if (!isKept) rmSync(dir, { recursive: true, force: true });
  };
  const stopSteps: (() => Promise<void> | void)[] = [removeFolder];
  const stop = async () => {
    for (const step of stopSteps.splice(0).reverse()) await step();
  };
  try {
    const servers = await startServers({ ...options, embedded, onStop: (step) => void stopSteps.push(step) });
    const model = await obtainEmbeddingModel(options);
    if ('unavailable' in model) throw new Error(`The bench needs the embedding model: ${model.unavailable}`);
    const crewsDir = join(dir, 'crews');
    writeCrews(crewsDir);
    const socket = embedderSocket(dir);
    stopSteps.push(socket.release);
    const settings: Record<string, string | undefined> = {
      ...env,
      ...SETTINGS,
      ...servers.settings,
      POSTBACK_WORKER_VERSIONING: code === undefined ? 'off' : 'on',
      POSTBACK_EMBEDDING_MODEL_DIR: dirname(model.modelPath),
      POSTBACK_SEALING_KEY: randomBytes(32).toString('base64'),
      POSTBACK_DATA_DIR: dir,
      POSTBACK_CREWS_DIR: crewsDir,
      POSTBACK_EMBEDDER_SOCKET: socket.path,
    };
    /** Starts a process of the product, and resolves when it is ready. */
    const start = async (kind: ProductKind, name: string, release: string | undefined) => {
      const part = await startProductPart(kind, name, { ...options, links: servers.links, settings, code: release });
      stopSteps.push(part.stop);
      await part.ready();
      return part;
    };
    const embedder = await start('embedder', 'embedder', code);
    const workers = await Promise.all(['worker-1', 'worker-2'].map((name) => start('worker', name, code)));
    const apis = await Promise.all(['api-1', 'api-2'].map((name) => start('api', name, code)));
    const balancer = await startHttpBalancer(
      apis.map(({ address }) => address!),
      (address) => answers(`http://${address}/readyz`),
    );
    stopSteps.push(balancer.close);
    return {
      ...servers,
      parts: [...apis, ...workers, embedder, ...servers.parts],
      settings,
      apiUrl: `http://${balancer.address}`,
      balancer,
      apis,
      workers,
      embedder,
      start,
      stop,
      /** Keeps the logs and the data. @returns the folder */
      keepFolder() {
        isKept = true;
        return dir;
      },
    };
  } catch (error) {
    await stop();
    throw error;
  }
}
