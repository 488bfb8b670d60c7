import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { defaultCacheDir } from '../../dev-stack/index.js';

/** Limits a stalled download, because `spawnSync` blocks the event loop of the test. */
const STALLED_MS = 100_000;

/**
 * A Python with the `cryptography` package: the system's, or else one in a virtual environment that is created once.
 * @throws Error that names the packages to install
 */
export function pythonWithCryptography(): string {
  const venv = join(defaultCacheDir(process.env), 'python');
  const candidates = ['python3', join(venv, 'bin/python')];
  const found = () => candidates.find((python) => succeeds(python, '-c', 'import cryptography'));
  const present = found();
  if (present !== undefined) return present;
  succeeds('python3', '-m', 'venv', venv);
  succeeds(candidates[1]!, '-m', 'pip', 'install', '--quiet', 'cryptography');
  const installed = found();
  if (installed === undefined)
    throw new Error('install Python 3 with its cryptography package: pip install cryptography');
  return installed;
}

function succeeds(command: string, ...args: string[]): boolean {
  return spawnSync(command, args, { stdio: 'ignore', timeout: STALLED_MS }).status === 0;
}
