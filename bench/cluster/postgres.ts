import { chownSync, existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startOnPorts } from '../../dev-stack/ports.js';
import { startRestarting } from '../../dev-stack/restarting-server.js';
import { runCommand } from '../../dev-stack/run-command.js';
import { type ServerOptions, startSupervisedChild, waitUntilReady } from '../../dev-stack/supervised-child.js';
import { findPostgres } from './binaries.js';
import type { Links } from './links.js';
import type { Part } from './part.js';

const USER = 'temporal';
/** The user `nobody` of Linux: PostgreSQL refuses to run as root. */
const NOBODY = 65_534;
const MINUTE = 60_000;

/** Starts PostgreSQL for Temporal. Only processes of this machine reach it, without a password. */
export async function startPostgres({ dir, claimsDir, env, log }: Omit<ServerOptions, 'binary'>, links: Links) {
  const programs = await findPostgres(env);
  const isRoot = process.getuid?.() === 0;
  const program = (name: string): [string, ...string[]] =>
    isRoot
      ? ['setpriv', `--reuid=${NOBODY}`, `--regid=${NOBODY}`, '--clear-groups', join(programs, name)]
      : [join(programs, name)];
  // Not in the folder of the bench, which other users cannot enter.
  const data = mkdtempSync(join(tmpdir(), 'postback-postgres-'));
  if (isRoot) chownSync(data, NOBODY, NOBODY);
  mkdirSync(join(dir, 'postgres'), { recursive: true });
  const [initdb, ...initdbOptions] = program('initdb');
  const options = ['-D', join(data, 'db'), '-U', USER, '--auth=trust', '--encoding=UTF8', '--no-locale', '--no-sync'];
  await runCommand(initdb, [...initdbOptions, ...options], env, 2 * MINUTE);
  const server = await startOnPorts({ dir: join(dir, 'postgres'), claimsDir }, { postgres: 0 }, ({ postgres: port }) =>
    startRestarting(
      'PostgreSQL',
      async () => {
        const [command, ...args] = program('postgres');
        const settings = ['listen_addresses=127.0.0.1', `port=${port}`, `unix_socket_directories=${data}`];
        // Faults end processes, not the machine: what was written to the system is kept.
        const fast = ['fsync=off', 'max_connections=200'];
        const started = await startSupervisedChild({
          command,
          args: [...args, '-D', join(data, 'db'), ...[...settings, ...fast].flatMap((setting) => ['-c', setting])],
          env,
          logFile: join(dir, 'postgres', 'postgres.log'),
          pidFile: join(dir, 'postgres', 'postgres.pid'),
        });
        await waitUntilReady(started, 'PostgreSQL', () => acceptsQueries(programs, port, env));
        return { ...started, port };
      },
      log,
    ),
  );
  const { port } = server;
  const part: Part = {
    name: 'postgres',
    pid: server.pid,
    failed: server.failed,
    isWell: () => acceptsQueries(programs, port, env),
    link: 'postgres',
  };
  return {
    part,
    user: USER,
    /** For tools that create the databases. */
    direct: { host: '127.0.0.1', port },
    address: await links.add('postgres', `127.0.0.1:${port}`),
    async stop() {
      await server.stop();
      if (existsSync(data)) rmSync(data, { recursive: true, force: true });
    },
  };
}

async function acceptsQueries(programs: string, port: number, env: ServerOptions['env']): Promise<boolean> {
  const ready = ['-h', '127.0.0.1', '-p', `${port}`, '-U', USER, '-t', '2'];
  return runCommand(join(programs, 'pg_isready'), ready, env, 5_000).then(
    () => true,
    () => false,
  );
}
