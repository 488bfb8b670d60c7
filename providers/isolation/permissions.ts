import { existsSync, realpathSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const CONFINE = new URL('./confine.js', import.meta.url);
const NO_DATABASE = '--no-experimental-sqlite';
const COMPILED = fileURLToPath(new URL('../..', import.meta.url));

/** The compiled code and the packages, with the models and the language data that they contain. */
function codeFolders(): string[] {
  const packages = createRequire(import.meta.url)
    .resolve.paths('any')!
    .filter((folder) => existsSync(folder));
  const folders = [COMPILED, ...packages];
  return [...new Set([...folders, ...folders.map((folder) => realpathSync(folder))])];
}

/**
 * Node's arguments for a child: it reads code and its own folder, writes to that folder, and starts no process. It may start
 * threads, because one watches its memory.
 * @param addons whether it loads native packages, which the permission model does not bind
 * @param data folders whose files it reads too, which may be made later
 */
export function permissionArguments(folder: string, addons: boolean, data: readonly string[]): string[] {
  const dataFiles = data.map((path) => join(resolve(path), '*'));
  const readable = [...codeFolders(), join(COMPILED, '..', 'package.json'), folder, ...dataFiles];
  return [
    '--permission',
    // Node's database opens any file, whatever the permissions say.
    ...(process.allowedNodeEnvironmentFlags.has(NO_DATABASE) ? [NO_DATABASE] : []),
    '--allow-worker',
    ...(addons ? ['--allow-addons'] : []),
    ...readable.map((path) => `--allow-fs-read=${path}`),
    `--allow-fs-write=${folder}`,
    `--import=${CONFINE.href}`,
  ];
}
