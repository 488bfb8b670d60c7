import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { defaultCacheDir } from '../../dev-stack/index.js';

/** A download that stalls must not hold the suite, which waits for it without turning its event loop. */
const STALLED_MS = 100_000;

/**
 * A Python that has the `cryptography` package: the machine's own, else one in a virtual environment that is made once.
 * @throws Error that says what to install
 */
export function pythonWithCryptography(): string {
  const venv = join(defaultCacheDir(process.env), 'python');
  const candidates = ['python3', join(venv, 'bin/python')];
  const found = () => candidates.find((python) => succeeds(python, '-c', 'import cryptography'));
  const present = found();
  if (present !== undefined) return present;
  succeeds('python3', '-m', 'venv', venv);
  succeeds(candidates[1]!, '-m', 'pip', 'install', '--quiet', 'cryptography');
  const made = found();
  if (made === undefined) throw new Error('install Python 3 with its cryptography package: pip install cryptography');
  return made;
}

function succeeds(command: string, ...args: string[]): boolean {
  return spawnSync(command, args, { stdio: 'ignore', timeout: STALLED_MS }).status === 0;
}
