import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { type Document, MongoClient, MongoServerError } from 'mongodb';
import type { Env, Log } from './fetching.js';
import { awaitPredecessor, type Leashed, startLeashed, startOnPorts } from './leashed.js';
import { untilReady } from './readiness.js';

export interface MongodOptions {
  readonly binary: string;
  /** Holds the log, the chosen port, and the data under `mongodb/`. */
  readonly dir: string;
  /** Where all stacks of this user claim their ports. */
  readonly claimsDir: string;
  readonly env: Env;
  readonly log: Log;
}

export interface Mongod {
  /** With the database `postback` and the replica set's name. */
  readonly uri: string;
  readonly pid: number;
  readonly ended: Promise<string>;
  stop(): Promise<void>;
}

const TITLE = 'MongoDB';
const REPLICA_SET = 'rs0';
/** mongod would take half the machine's memory; the workers need theirs. */
const CACHE_GB = '0.5';
const NOT_YET_INITIALIZED = 94;

/** Starts mongod as a replica set of one with its data in `dir` and waits until it takes writes. Throws with the end of its log. */
export async function startMongod(options: MongodOptions): Promise<Mongod> {
  mkdirSync(join(options.dir, 'mongodb'), { recursive: true });
  await awaitPredecessor(pidFile(options.dir), TITLE, options.log);
  return startOnPorts(options, { mongodb: 27017 }, ({ mongodb }) => startOnce(options, mongodb));
}

async function startOnce({ binary, dir, env }: MongodOptions, port: number): Promise<Mongod> {
  const host = `127.0.0.1:${port}`;
  const server = await startLeashed({
    command: binary,
    args: [
      ...['--dbpath', join(dir, 'mongodb'), '--bind_ip', '127.0.0.1', '--port', `${port}`, '--replSet', REPLICA_SET],
      // The default oplog is 5% of the disk; a single node only needs it for transactions and change streams.
      ...['--wiredTigerCacheSizeGB', CACHE_GB, '--oplogSize', '512', '--quiet', '--nounixsocket'],
    ],
    env,
    logFile: join(dir, 'mongodb.log'),
    pidFile: pidFile(dir),
  });
  await untilPrimary(server, host);
  return {
    uri: `mongodb://${host}/postback?replicaSet=${REPLICA_SET}`,
    pid: server.pid,
    ended: server.ended,
    stop: server.stop,
  };
}

async function untilPrimary(server: Leashed, host: string): Promise<void> {
  await untilReady(server, TITLE, async () => {
    // A new client each time: one whose first connection failed does not recover ("Topology is closed").
    const client = new MongoClient(`mongodb://${host}`, { directConnection: true, serverSelectionTimeoutMS: 500 });
    try {
      const admin = client.db('admin');
      await bringConfigTo(host, (command) => admin.command(command));
      return (await admin.command({ hello: 1 })).isWritablePrimary === true;
    } finally {
      await client.close();
    }
  });
}

/** The replica set's configuration names its member by port: written on the first run, forced to the new port later. */
async function bringConfigTo(host: string, command: (command: Document) => Promise<Document>): Promise<void> {
  const member = { _id: 0, host };
  try {
    const { config } = await command({ replSetGetConfig: 1 });
    if (config.members.length === 1 && config.members[0].host === host) return;
    const moved = { ...config, version: config.version + 1, members: [{ ...config.members[0], host }] };
    await command({ replSetReconfig: moved, force: true });
  } catch (error) {
    if (!(error instanceof MongoServerError) || error.code !== NOT_YET_INITIALIZED) throw error;
    // Elections are for sets of several: a single node need not wait the default ten seconds for rivals.
    const settings = { electionTimeoutMillis: 1_000 };
    await command({ replSetInitiate: { _id: REPLICA_SET, members: [member], settings } });
  }
}

function pidFile(dir: string): string {
  return join(dir, 'mongodb.pid');
}
