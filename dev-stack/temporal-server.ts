import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { Connection } from '@temporalio/client';
import { type RestartingServer, startOnFreePorts } from './restarting-server.js';
import { type ServerOptions, type SupervisedChild, startSupervisedChild, waitUntilReady } from './supervised-child.js';

interface Addresses {
  readonly address: string;
  readonly uiUrl: string;
  /** The server's own counters, for Prometheus. */
  readonly metricsUrl: string;
}

export type TemporalServer = RestartingServer & Addresses;

const TITLE = 'Temporal';
const NAMESPACE = 'default';
const SETTINGS = [
  // Task queues serve fairness keys (organisations) in turn.
  'matching.useNewMatcher=true',
  'matching.enableFairness=true',
  // Partitions spread a queue over servers. On one server they only pass tasks and polls on, and turns are kept in each.
  'matching.numTaskqueueReadPartitions=1',
  'matching.numTaskqueueWritePartitions=1',
  // No requests to the internet for version checks.
  'frontend.enableServerVersionCheck=false',
];
/** Used when they are free. */
const PREFERRED_PORTS = { temporal: 7233, temporal_ui: 8233, temporal_metrics: 9233 };

/**
 * Starts Temporal's dev server with its data in `dir` and waits until it responds. It is started again when
 * it ends.
 * @throws Error with the end of its log
 */
export async function startTemporalServer(options: ServerOptions): Promise<TemporalServer> {
  mkdirSync(options.dir, { recursive: true });
  const server = { title: TITLE, pidFile: pidFile(options.dir), preferred: PREFERRED_PORTS };
  return startOnFreePorts(server, options, (ports) => startOnce(options, ports));
}

async function startOnce(
  { binary, dir, env }: ServerOptions,
  ports: typeof PREFERRED_PORTS,
): Promise<SupervisedChild & Addresses> {
  const address = `127.0.0.1:${ports.temporal}`;
  const server = await startSupervisedChild({
    command: binary,
    args: [
      ...['server', 'start-dev', '--ip', '127.0.0.1'],
      ...['--port', `${ports.temporal}`, '--ui-port', `${ports.temporal_ui}`],
      ...['--metrics-port', `${ports.temporal_metrics}`],
      ...['--db-filename', join(dir, 'temporal.db')],
      // Three times the throughput of SQLite's defaults; acknowledged writes survive kill -9.
      ...['--sqlite-pragma', 'journal_mode=wal', '--sqlite-pragma', 'synchronous=normal'],
      ...SETTINGS.flatMap((setting) => ['--dynamic-config-value', setting]),
      '--ui-disable-news-fetch',
    ],
    env: { ...env, TEMPORAL_VERSION_CHECK_DISABLED: 'true' },
    logFile: join(dir, 'temporal.log'),
    pidFile: pidFile(dir),
  });
  await waitUntilResponding(server, address);
  const uiUrl = `http://127.0.0.1:${ports.temporal_ui}`;
  const metricsUrl = `http://127.0.0.1:${ports.temporal_metrics}/metrics`;
  return { ...server, address, uiUrl, metricsUrl };
}

async function waitUntilResponding(server: SupervisedChild, address: string): Promise<void> {
  const connection = Connection.lazy({
    address,
    // By default gRPC waits a second and more between attempts; the server starts faster than that.
    channelArgs: { 'grpc.initial_reconnect_backoff_ms': 100, 'grpc.max_reconnect_backoff_ms': 250 },
  });
  try {
    await waitUntilReady(server, TITLE, async () => {
      // The worker's first request: it registers the search attributes that are missing.
      const request = () => connection.operatorService.listSearchAttributes({ namespace: NAMESPACE });
      await connection.withDeadline(Date.now() + 5_000, request);
      return true;
    });
  } finally {
    await connection.close();
  }
}

function pidFile(dir: string): string {
  return join(dir, 'temporal.pid');
}
