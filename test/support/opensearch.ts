import { join } from 'node:path';
import { defaultCacheDir } from '../../dev-stack/index.js';
import { temporaryFolder } from './folder.js';
import { obtainOpenSearch } from './opensearch/files.js';
import { type OpenSearch, startOpenSearch } from './opensearch/server.js';

const cacheDir = defaultCacheDir(process.env);

/** @returns a function that starts OpenSearch once; null, with a word on the console, where it cannot be had */
export async function openSearchIfAvailable(): Promise<(() => Promise<OpenSearch>) | null> {
  const files = await obtainOpenSearch({ cacheDir, env: process.env, log: console.log });
  if ('unavailable' in files) {
    console.warn(`OpenSearch: skipped, because it cannot be started here: ${files.unavailable}`);
    return null;
  }
  const { classPath } = files;
  const dir = temporaryFolder('opensearch');
  return () => startOpenSearch({ classPath, dir, claimsDir: join(cacheDir, 'ports'), env: process.env, isBrief: true });
}
