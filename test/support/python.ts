import { spawnSync } from 'node:child_process';
import { renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { defaultCacheDir } from '../../dev-stack/index.js';

/** The packages of PyPI that tests and benches install. */
export const PYPI_VERSIONS = {
  cryptography: '50.0.2',
  kubernetes_validate: '1.37.0',
  requests: '2.34.2',
  schemathesis: '4.32.5',
  standardwebhooks: '1.1.0',
} as const;

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
  succeeds(candidates[1]!, '-m', 'pip', 'install', '--quiet', `cryptography==${PYPI_VERSIONS.cryptography}`);
  const installed = found();
  if (installed === undefined)
    throw new Error('install Python 3 with its cryptography package: pip install cryptography');
  return installed;
}

/**
 * The environment in which `python3` has a package of PyPI. The package is downloaded once, beside the system's Python.
 * @param options `withDependencies` also downloads the packages that it needs
 * @returns null when there is no Python 3, or the package cannot be installed
 */
export function pythonEnvironmentWith(
  name: keyof typeof PYPI_VERSIONS,
  { withDependencies = false }: { withDependencies?: boolean } = {},
): NodeJS.ProcessEnv | null {
  const requirement = `${name}==${PYPI_VERSIONS[name]}`;
  const folder = join(defaultCacheDir(process.env), 'python-packages', requirement);
  const env = { ...process.env, PYTHONPATH: folder };
  const present = () => spawnSync('python3', ['-c', `import ${name}`], { env, stdio: 'ignore' }).status === 0;
  if (present()) return env;
  const downloaded = `${folder}.${process.pid}`;
  const options = ['--quiet', ...(withDependencies ? [] : ['--no-deps']), '--target', downloaded];
  succeeds('python3', '-m', 'pip', 'install', ...options, requirement);
  try {
    // In one step, because other test processes look for it too.
    renameSync(downloaded, folder);
  } catch {
    rmSync(downloaded, { recursive: true, force: true });
  }
  return present() ? env : null;
}

function succeeds(command: string, ...args: string[]): boolean {
  return spawnSync(command, args, { stdio: 'ignore', timeout: STALLED_MS }).status === 0;
}
