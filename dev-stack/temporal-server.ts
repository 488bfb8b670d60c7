import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { Connection } from '@temporalio/client';
import type { Env, Log } from './fetching.js';
import { awaitPredecessor, type Leashed, startLeashed, startOnPorts } from './leashed.js';
import { untilReady } from './readiness.js';

export type SearchAttributeType = keyof typeof INDEXED_VALUE_TYPES;

export interface TemporalServerOptions {
  readonly binary: string;
  /** Holds the database, the log and the chosen ports. */
  readonly dir: string;
  /** Where all stacks of this user claim their ports. */
  readonly claimsDir: string;
  readonly env: Env;
  /** Registered at start, by name; those of earlier starts stay. */
  readonly searchAttributes: Readonly<Record<string, SearchAttributeType>>;
  readonly log: Log;
}

export interface TemporalServer {
  readonly address: string;
  readonly uiUrl: string;
  /** The server's own counters, for Prometheus. */
  readonly metricsUrl: string;
  readonly pid: number;
  readonly ended: Promise<string>;
  stop(): Promise<void>;
}

const TITLE = 'Temporal';
const NAMESPACE = 'default';
/** Taken when they are free. */
const PORTS = { temporal: 7233, temporal_ui: 8233, temporal_metrics: 9233 };
/** Numbers of `temporal.api.enums.v1.IndexedValueType`. */
const INDEXED_VALUE_TYPES = { TEXT: 1, KEYWORD: 2, INT: 3, DOUBLE: 4, BOOL: 5, DATETIME: 6, KEYWORD_LIST: 7 } as const;

/** Starts Temporal's dev server with its data in `dir` and waits until it answers. Throws with the end of its log. */
export async function startTemporalServer(options: TemporalServerOptions): Promise<TemporalServer> {
  mkdirSync(options.dir, { recursive: true });
  await awaitPredecessor(pidFile(options.dir), TITLE, options.log);
  return startOnPorts(options, PORTS, (ports) => startOnce(options, ports));
}

async function startOnce(
  { binary, dir, env, searchAttributes }: TemporalServerOptions,
  ports: typeof PORTS,
): Promise<TemporalServer> {
  const address = `127.0.0.1:${ports.temporal}`;
  const server = await startLeashed({
    command: binary,
    args: [
      ...['server', 'start-dev', '--ip', '127.0.0.1'],
      ...['--port', `${ports.temporal}`, '--ui-port', `${ports.temporal_ui}`],
      ...['--metrics-port', `${ports.temporal_metrics}`],
      ...['--db-filename', join(dir, 'temporal.db')],
      // Three times the throughput of SQLite's defaults, and what was acknowledged survives kill -9.
      ...['--sqlite-pragma', 'journal_mode=wal', '--sqlite-pragma', 'synchronous=normal'],
      // Nothing here calls out of the machine unasked.
      ...['--dynamic-config-value', 'frontend.enableServerVersionCheck=false', '--ui-disable-news-fetch'],
    ],
    env,
    logFile: join(dir, 'temporal.log'),
    pidFile: pidFile(dir),
  });
  await untilAnswering(server, address, searchAttributes);
  const uiUrl = `http://127.0.0.1:${ports.temporal_ui}`;
  const metricsUrl = `http://127.0.0.1:${ports.temporal_metrics}/metrics`;
  return { address, uiUrl, metricsUrl, pid: server.pid, ended: server.ended, stop: server.stop };
}

async function untilAnswering(
  server: Leashed,
  address: string,
  searchAttributes: TemporalServerOptions['searchAttributes'],
): Promise<void> {
  const connection = Connection.lazy({
    address,
    // gRPC waits a second and more between attempts by default; the server is up in less.
    channelArgs: { 'grpc.initial_reconnect_backoff_ms': 100, 'grpc.max_reconnect_backoff_ms': 250 },
  });
  try {
    await untilReady(server, TITLE, async () => {
      await connection.withDeadline(Date.now() + 5_000, () => registerMissing(connection, searchAttributes));
      return true;
    });
  } finally {
    await connection.close();
  }
}

// Not by `--search-attribute`: that only counts when the database is made, and a later version may bring more of them.
async function registerMissing(
  { operatorService }: Connection,
  wanted: TemporalServerOptions['searchAttributes'],
): Promise<void> {
  const { customAttributes } = await operatorService.listSearchAttributes({ namespace: NAMESPACE });
  const missing = Object.entries(wanted).filter(([name]) => !(name in customAttributes));
  if (missing.length === 0) return;
  const searchAttributes = Object.fromEntries(missing.map(([name, type]) => [name, INDEXED_VALUE_TYPES[type]]));
  await operatorService.addSearchAttributes({ namespace: NAMESPACE, searchAttributes });
}

function pidFile(dir: string): string {
  return join(dir, 'temporal.pid');
}
