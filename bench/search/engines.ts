import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { connect } from '@lancedb/lancedb';
import { defaultCacheDir } from '../../dev-stack/index.js';
import type { SearchEngine } from '../../domain/content/index-generations.js';
import type { SearchIndex } from '../../domain/content/search.js';
import { createLanceIndex } from '../../storage/content/search-index/lancedb/index.js';
import { createOpenSearchIndex } from '../../storage/content/search-index/opensearch/index.js';
import { obtainOpenSearch } from '../../test/support/opensearch/files.js';
import { startOpenSearch } from '../../test/support/opensearch/server.js';

/** An engine in a folder of its own. */
export interface MeasuredEngine {
  index: SearchIndex;
  /** Its server; absent when it runs in the process that asks. */
  serverPid?: number;
  /** Resolves when it does nothing in the background. */
  settle(): Promise<void>;
  /** Bytes of the files that the current rows need. */
  storedBytes(table: string): Promise<number>;
  close(): Promise<void>;
}

const OPENSEARCH_HEAP_MB = 512;

export const ENGINES: Record<SearchEngine, (folder: string) => Promise<MeasuredEngine>> = {
  async lancedb(folder) {
    const index = createLanceIndex({ location: folder });
    return {
      index,
      settle: async () => undefined,
      async storedBytes(table) {
        // Without the versions that are kept for readers in other processes.
        const connection = await connect(folder);
        await (await connection.openTable(table)).optimize({ cleanupOlderThan: new Date(), deleteUnverified: true });
        connection.close();
        return bytesIn(folder);
      },
      close: () => index.close(),
    };
  },

  async opensearch(folder) {
    const cacheDir = defaultCacheDir(process.env);
    const files = await obtainOpenSearch({ cacheDir, env: process.env, log: console.error });
    if ('unavailable' in files) throw new Error(files.unavailable);
    const server = await startOpenSearch({
      ...files,
      dir: folder,
      claimsDir: join(cacheDir, 'ports'),
      env: process.env,
      heapMb: OPENSEARCH_HEAP_MB,
    });
    const index = createOpenSearchIndex({ url: server.url, prefix: 'bench' });
    return {
      index,
      serverPid: server.pid,
      async settle() {
        const isMerging = async () => {
          const response = await fetch(`${server.url}/_stats/merge`);
          const { _all: all } = (await response.json()) as { _all: { total: { merges: { current: number } } } };
          return all.total.merges.current > 0;
        };
        while (await isMerging()) await wait(200);
      },
      async storedBytes() {
        await fetch(`${server.url}/_flush?force=true`, { method: 'POST' });
        return bytesIn(join(folder, 'data'));
      },
      async close() {
        await index.close();
        await server.stop();
      },
    };
  },
};

function bytesIn(folder: string): number {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .reduce((sum, entry) => sum + statSync(join(entry.parentPath, entry.name)).size, 0);
}
