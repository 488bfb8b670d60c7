import { constants } from 'node:fs';
import { access, readdir } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { type Env, type Log, placeInCache } from '../../dev-stack/downloads.js';
import { CommandMissing, runCommand } from '../../dev-stack/run-command.js';

/** Programs that Go builds from its module proxy, which checks them by their checksum database. */
const GO_PROGRAMS = {
  'temporal-server': 'go.temporal.io/server/cmd/server@v1.32.0',
  'temporal-sql-tool': 'go.temporal.io/server/cmd/tools/sql@v1.32.0',
  'toxiproxy-server': 'github.com/Shopify/toxiproxy/v2/cmd/server@v2.5.0',
} as const;

/** The first build of Temporal's server compiles all of its packages. */
const BUILD_MS = 30 * 60_000;

export interface FetchOptions {
  readonly cacheDir: string;
  readonly env: Env;
  readonly log: Log;
}

/** Returns the path of a program, from the PATH, the cache or built by Go. @throws Error that says what to install */
export async function obtainGoProgram(
  name: keyof typeof GO_PROGRAMS,
  { cacheDir, env, log }: FetchOptions,
): Promise<string> {
  const source = GO_PROGRAMS[name];
  const onPath = await findInFolders(name, (env.PATH ?? '').split(delimiter));
  if (onPath) return onPath;
  const cached = join(cacheDir, 'bin', `${name}-${source.split('@v')[1]}`);
  if (await isExecutable(cached)) return cached;
  log(`${name}: go install ${source} (minutes, once)`);
  try {
    await placeInCache(cached, cacheDir, async (folder) => {
      await runCommand('go', ['install', '-ldflags=-s -w', source], { ...env, GOBIN: folder }, BUILD_MS);
      return join(folder, (await readdir(folder))[0]!);
    });
    return cached;
  } catch (error) {
    const reason = error instanceof CommandMissing ? 'there is no go on the PATH' : (error as Error).message;
    throw new Error(
      `${name} was not found and could not be built: ${reason}.\n` +
        'To fix this, do one of the following: install Go from https://go.dev/dl, with access to its module proxy; ' +
        `put ${name} on the PATH; run the bench with --embedded, which needs neither.`,
    );
  }
}

const POSTGRES_PROGRAMS = ['initdb', 'pg_isready', 'postgres'];
const DEBIAN_FOLDER = '/usr/lib/postgresql';

/** @returns the folder of PostgreSQL's programs. @throws Error that says what to install */
export async function findPostgres(env: Env): Promise<string> {
  const versions = await readdir(DEBIAN_FOLDER).catch(() => []);
  const newestFirst = versions.sort((a, b) => Number(b) - Number(a));
  const folders = [
    ...(env.PATH ?? '').split(delimiter),
    ...newestFirst.map((version) => join(DEBIAN_FOLDER, version, 'bin')),
  ];
  for (const folder of folders) {
    const present = await Promise.all(POSTGRES_PROGRAMS.map((name) => isExecutable(join(folder, name))));
    if (present.every(Boolean)) return folder;
  }
  throw new Error(
    'PostgreSQL was not found: no folder of the PATH has initdb, pg_isready and postgres.\n' +
      'To fix this, do one of the following: install PostgreSQL 12 or newer (Debian: apt-get install postgresql); ' +
      'run the bench with --embedded, which does not need it.',
  );
}

async function findInFolders(name: string, folders: readonly string[]): Promise<string | undefined> {
  for (const folder of folders) if (folder && (await isExecutable(join(folder, name)))) return join(folder, name);
  return undefined;
}

function isExecutable(path: string): Promise<boolean> {
  return access(path, constants.X_OK).then(
    () => true,
    () => false,
  );
}
