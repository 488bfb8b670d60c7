// A packed Postback has its compiled code and its lock file, but no dependencies for npm to resolve: npm would ignore the
// lock file and `overrides`, and run install scripts. Like the repository, it installs what the lock file names at its first
// start, into the cache of the user.
import { createHash } from 'node:crypto';
import { cpSync, existsSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { npmCi, root, shippedWithSources, withLock } from './prepare.mjs';
import { prune } from './prune.mjs';
import { CACHE } from './supported-node.mjs';

/** Written by bin/pack.mjs: the manifest with the dependencies, the lock file, and the name of the build. */
export const RELEASE = join(root, 'dist', 'release');
const RELEASES = join(CACHE, 'releases');

/** A short name for contents. */
export function nameOf(...contents) {
  const hash = createHash('sha256');
  for (const content of contents) hash.update(content);
  return hash.digest('hex').slice(0, 16);
}

/** Whether this is a packed Postback, not the repository or an image. */
export function isRelease() {
  return existsSync(join(RELEASE, 'release.json')) && !shippedWithSources();
}

/**
 * Installs the packages of this release, once for all releases with the same lock file, and its code beside them.
 * @returns the folder with its code
 * @throws Error when npm fails
 */
export async function installRelease() {
  const { build } = JSON.parse(readFileSync(join(RELEASE, 'release.json'), 'utf8'));
  const lock = readFileSync(join(RELEASE, 'lock.json'), 'utf8');
  const folder = join(RELEASES, nameOf(lock));
  const code = join(folder, build);
  const mark = join(folder, 'node_modules', '.postback-lock');
  if (existsSync(mark) && existsSync(code)) return code;
  await withLock(
    async () => {
      if (!existsSync(mark)) {
        console.error(`Installing packages to ${folder}. The first time takes about a minute …`);
        writeFileSync(join(folder, 'package-lock.json'), lock);
        cpSync(join(RELEASE, 'package.json'), join(folder, 'package.json'));
        await npmCi(folder, '--omit=dev');
        prune(join(folder, 'node_modules'));
        writeFileSync(mark, nameOf(lock));
      }
      if (existsSync(code)) return;
      // Renamed into place, so that half a copy is never run.
      const copy = `${code}.${process.pid}`;
      rmSync(copy, { recursive: true, force: true });
      cpSync(root, copy, { recursive: true, filter: (path) => path !== join(root, 'node_modules') });
      renameSync(copy, code);
    },
    join(folder, 'install.lock'),
  );
  return code;
}
