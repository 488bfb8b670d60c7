import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { obtainBinary } from '../../dev-stack/index.js';
import { startRestarting } from '../../dev-stack/restarting-server.js';
import type { ServerOptions } from '../../dev-stack/supervised-child.js';
import { startTemporalServer } from '../../dev-stack/temporal-server.js';
import { obtainOpenSearch } from '../../test/support/opensearch/files.js';
import { startOpenSearch } from '../../test/support/opensearch/server.js';
import { obtainGoProgram } from './binaries.js';
import { DIRECT, type Links, startLinks } from './links.js';
import { startReplicaSet } from './mongodb.js';
import { answers, type Part } from './part.js';
import { startPostgres } from './postgres.js';
import { startObjectStorage } from './s3.js';
import { responds, startTemporalPair } from './temporal.js';

export interface ServersOptions extends Omit<ServerOptions, 'binary'> {
  cacheDir: string;
  /** Temporal's dev server and the replica set, without proxies. */
  embedded: boolean;
  /** Receives what stops each server, in the order of the starts. */
  onStop(stop: () => Promise<void>): void;
}

/** What the product needs of servers: Temporal, MongoDB, and unless embedded also object storage and OpenSearch. */
export async function startServers(options: ServersOptions) {
  const { embedded, onStop, log } = options;
  const links = embedded ? DIRECT : await startProxies();
  onStop(links.stop);
  const replicaSet = await startReplicaSet({ ...options, binary: await obtainBinary('mongod', options) }, links);
  onStop(replicaSet.stop);
  const temporal = embedded ? await startDevServer() : await startPair();
  const others = embedded ? [] : [await startStorage(), await startSearch()].filter((server) => server !== null);
  return {
    links,
    mongodbUri: replicaSet.uri,
    temporalAddress: temporal.address,
    parts: [...replicaSet.parts, ...temporal.parts, ...others.map(({ part }) => part)],
    settings: {
      TEMPORAL_ADDRESS: temporal.address,
      MONGODB_URI: replicaSet.uri,
      ...Object.assign({}, ...others.map(({ settings }) => settings)),
    } as Record<string, string>,
  };

  async function startProxies(): Promise<Links> {
    return startLinks({ ...options, binary: await obtainGoProgram('toxiproxy-server', options) });
  }

  async function startDevServer() {
    const server = await startTemporalServer({ ...options, binary: await obtainBinary('temporal', options) });
    onStop(server.stop);
    const part: Part = {
      name: 'temporal',
      pid: server.pid,
      failed: server.failed,
      isWell: () => responds(server.address),
    };
    return { address: server.address, parts: [part] };
  }

  async function startPair() {
    const server = await obtainGoProgram('temporal-server', options);
    const sqlTool = await obtainGoProgram('temporal-sql-tool', options);
    const postgres = await startPostgres(options, links);
    onStop(postgres.stop);
    const pair = await startTemporalPair({ server, sqlTool }, options, postgres, links);
    onStop(pair.stop);
    return { address: pair.address, parts: [...pair.parts, postgres.part] };
  }

  async function startStorage() {
    const storage = await startObjectStorage(options, links);
    onStop(storage.stop);
    return storage;
  }

  async function startSearch() {
    const files = await obtainOpenSearch(options);
    if ('unavailable' in files) {
      log(`OpenSearch is left out: ${files.unavailable}`);
      return null;
    }
    const dir = join(options.dir, 'opensearch');
    mkdirSync(dir, { recursive: true });
    const start = () => startOpenSearch({ ...options, ...files, dir, heapMb: 512 });
    const server = await startRestarting('OpenSearch', start, log);
    onStop(server.stop);
    const name = 'opensearch';
    const address = await links.add(name, new URL(server.url).host);
    const part: Part = { name, pid: server.pid, failed: server.failed, isWell: () => answers(server.url), link: name };
    return { part, settings: { POSTBACK_SEARCH_URL: `http://${address}` } };
  }
}
