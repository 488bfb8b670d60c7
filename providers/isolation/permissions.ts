import { existsSync, realpathSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const CONFINE = new URL('./confine.js', import.meta.url);
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
 */
export function permissionArguments(folder: string, addons: boolean): string[] {
  const readable = [...codeFolders(), join(COMPILED, '..', 'package.json'), folder];
  return [
    '--permission',
    '--allow-worker',
    ...(addons ? ['--allow-addons'] : []),
    ...readable.map((path) => `--allow-fs-read=${path}`),
    `--allow-fs-write=${folder}`,
    `--import=${CONFINE.href}`,
  ];
}
