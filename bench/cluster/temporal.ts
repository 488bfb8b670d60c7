import { randomInt } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Connection } from '@temporalio/client';
import { msToTs } from '@temporalio/common/lib/time.js';
import { choosePorts } from '../../dev-stack/ports.js';
import { startRestarting } from '../../dev-stack/restarting-server.js';
import { runCommand } from '../../dev-stack/run-command.js';
import { type ServerOptions, startSupervisedChild, waitUntilReady } from '../../dev-stack/supervised-child.js';
import { eventually } from '../../test/support/eventually.js';
import { startTcpBalancer } from './balancer.js';
import type { Links } from './links.js';
import type { Part } from './part.js';
import type { startPostgres } from './postgres.js';

type Postgres = Awaited<ReturnType<typeof startPostgres>>;

const SERVICES = ['frontend', 'history', 'matching', 'worker'] as const;
/** Both servers have some of them, and take over those of the other. */
const HISTORY_SHARDS = 8;
const SCHEMAS = { temporal: 'temporal', temporal_visibility: 'visibility' } as const;
const PROBE_MS = 2_000;
const MINUTE = 60_000;
const NAMESPACE = 'default';

/** The same as in the embedded stack and in docker-compose.yml: queues serve organisations in turn. */
const DYNAMIC_CONFIG = {
  'matching.useNewMatcher': [{ value: true }],
  'matching.enableFairness': [{ value: true }],
  'frontend.enableServerVersionCheck': [{ value: false }],
};

export interface TemporalBinaries {
  server: string;
  sqlTool: string;
}

/** Starts two Temporal servers with all services each, which form one cluster on PostgreSQL, behind a balancer. */
export async function startTemporalPair(
  binaries: TemporalBinaries,
  options: Omit<ServerOptions, 'binary'>,
  postgres: Postgres,
  links: Links,
) {
  await createDatabases(binaries.sqlTool, options, postgres);
  // One after the other: the first one registers the cluster.
  const servers: Awaited<ReturnType<typeof startServer>>[] = [];
  for (const number of [1, 2]) servers.push(await startServer(binaries.server, options, postgres, number, links));
  const balancer = await startTcpBalancer(
    servers.map(({ address }) => address),
    responds,
  );
  await createNamespace(balancer.address);
  return {
    address: balancer.address,
    parts: servers.map(({ part }) => part),
    async stop() {
      await balancer.close();
      await Promise.all(servers.map(({ stop }) => stop()));
    },
  };
}

async function createDatabases(
  tool: string,
  { env, log }: Omit<ServerOptions, 'binary'>,
  { direct, user }: Postgres,
): Promise<void> {
  log('Temporal: creating its databases');
  for (const [database, schema] of Object.entries(SCHEMAS)) {
    const server = ['--ep', direct.host, '-p', `${direct.port}`, '-u', user, '--db', database];
    const run = (...command: string[]) =>
      runCommand(tool, ['--plugin', 'postgres12', ...server, ...command], env, 5 * MINUTE);
    await run('create');
    await run('setup-schema', '-v', '0.0');
    await run('update-schema', '--schema-name', `postgresql/v12/${schema}`);
  }
}

async function startServer(
  binary: string,
  { dir: folder, claimsDir, env, log }: Omit<ServerOptions, 'binary'>,
  postgres: Postgres,
  number: number,
  links: Links,
) {
  const name = `temporal-${number}`;
  const dir = join(folder, name);
  mkdirSync(dir, { recursive: true });
  const wanted = SERVICES.flatMap((service) => [`${service}_grpc`, `${service}_membership`]);
  // The server stores ports of its cluster as 16 bits with a sign: ephemeral ports are too high.
  const { ports, release } = await choosePorts(
    dir,
    claimsDir,
    Object.fromEntries(wanted.map((each) => [each, randomInt(20_000, 32_000)])),
  );
  const configFile = join(dir, 'config.yaml');
  const dynamicConfig = join(dir, 'dynamic-config.yaml');
  // JSON is YAML.
  writeFileSync(dynamicConfig, JSON.stringify(DYNAMIC_CONFIG));
  writeFileSync(configFile, JSON.stringify(serverConfig(ports, postgres, dynamicConfig), null, 2));
  const direct = `127.0.0.1:${ports.frontend_grpc}`;
  const server = await startRestarting(
    name,
    async () => {
      const started = await startSupervisedChild({
        command: binary,
        args: ['--config-file', configFile, '--allow-no-auth', 'start'],
        env: { ...env, TEMPORAL_VERSION_CHECK_DISABLED: 'true' },
        logFile: join(dir, 'temporal.log'),
        pidFile: join(dir, 'temporal.pid'),
      });
      await waitUntilReady(started, name, () => responds(direct));
      return started;
    },
    log,
  );
  const part: Part = { name, pid: server.pid, failed: server.failed, isWell: () => responds(direct), link: name };
  const stop = async () => {
    await server.stop();
    release();
  };
  return { part, address: await links.add(name, direct), stop };
}

function serverConfig(ports: Record<string, number>, { address, user }: Postgres, dynamicConfig: string) {
  const sql = (databaseName: string, maxConns: number) => ({
    sql: {
      pluginName: 'postgres12',
      databaseName,
      connectAddr: address,
      connectProtocol: 'tcp',
      user,
      maxConns,
      maxIdleConns: maxConns,
      maxConnLifetime: '1h',
    },
  });
  const service = (name: string) => ({
    rpc: {
      grpcPort: ports[`${name}_grpc`],
      membershipPort: ports[`${name}_membership`],
      bindOnIP: '127.0.0.1',
    },
  });
  return {
    log: { stdout: true, level: 'warn' },
    persistence: {
      defaultStore: 'default',
      visibilityStore: 'visibility',
      numHistoryShards: HISTORY_SHARDS,
      datastores: { default: sql('temporal', 20), visibility: sql('temporal_visibility', 10) },
    },
    global: { membership: { maxJoinDuration: '30s', broadcastAddress: '127.0.0.1' } },
    services: Object.fromEntries(SERVICES.map((name) => [name, service(name)])),
    clusterMetadata: {
      enableGlobalNamespace: false,
      failoverVersionIncrement: 10,
      masterClusterName: 'active',
      currentClusterName: 'active',
      clusterInformation: {
        active: {
          enabled: true,
          initialFailoverVersion: 1,
          rpcName: 'frontend',
          rpcAddress: `127.0.0.1:${ports.frontend_grpc}`,
        },
      },
    },
    publicClient: { hostPort: `127.0.0.1:${ports.frontend_grpc}` },
    archival: { history: { state: 'disabled' }, visibility: { state: 'disabled' } },
    dynamicConfigClient: { filepath: dynamicConfig, pollInterval: '60s' },
  };
}

/** Whether the server at this address serves requests. */
export async function responds(address: string): Promise<boolean> {
  const connection = Connection.lazy({
    address,
    channelArgs: { 'grpc.initial_reconnect_backoff_ms': 100, 'grpc.max_reconnect_backoff_ms': 250 },
  });
  try {
    // Asks the database, so a server without its database does not pass.
    const request = () => connection.workflowService.listNamespaces({ pageSize: 1 });
    await connection.withDeadline(Date.now() + PROBE_MS, request);
    return true;
  } catch {
    return false;
  } finally {
    await connection.close();
  }
}

async function createNamespace(address: string): Promise<void> {
  const connection = await Connection.connect({ address });
  const { workflowService } = connection;
  try {
    const namespace = NAMESPACE;
    await workflowService.registerNamespace({ namespace, workflowExecutionRetentionPeriod: msToTs('1 day') });
    await eventually('the namespace', () => workflowService.describeNamespace({ namespace }));
  } finally {
    await connection.close();
  }
}
