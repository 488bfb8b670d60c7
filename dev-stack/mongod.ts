import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { type Document, MongoClient, MongoServerError } from 'mongodb';
import { type RestartingServer, startOnFreePorts } from './restarting-server.js';
import { type ServerOptions, type SupervisedChild, startSupervisedChild, waitUntilReady } from './supervised-child.js';

export interface Mongod extends RestartingServer {
  /** Includes the database `postback` and the name of the replica set. */
  readonly uri: string;
}

const TITLE = 'MongoDB';
export const REPLICA_SET = 'rs0';
/**
 * By default mongod takes half of the machine's memory, which the workers need. Set in the engine's own words, because the
 * option for it allows no less than 256 MiB. What is not in the cache is read from that of the operating system. Memory for
 * each of the sessions is taken at the start: MongoDB's 33,000 take 38 MiB, and a session serves one operation at a time. By
 * default, the journal takes three files of 100 MB before anything is written, and a fifth of the cache may hold what is not written
 * yet: a transaction with the largest request would not fit, because it is there twice, as records and in the oplog.
 */
const ENGINE =
  'cache_size=128M,eviction_dirty_trigger=80,eviction_updates_trigger=80,session_max=3000,log=(prealloc=false,file_max=32MB)';
const PARAMETERS = [
  // Nothing reads at a past time. By default every replaced value is kept for five minutes, which makes queues slow: what
  // was taken from them stays in their indexes.
  'minSnapshotHistoryWindowInSeconds=5',
  // The transaction of a process that was killed holds its records until then: 60 seconds by default, and up to 90 until all work on
  // them has ended. The largest request takes 5.
  'transactionLifetimeLimitSeconds=20',
  // Statistics for MongoDB's support, written each second.
  'diagnosticDataCollectionEnabled=false',
];
/** MongoDB's error code NotYetInitialized. */
const NOT_YET_INITIALIZED = 94;

/**
 * Starts mongod as a replica set with one member, its data in `dir`, and waits until it accepts writes. It is
 * started again when it ends.
 * @throws Error with the end of its log
 */
export async function startMongod(options: ServerOptions): Promise<Mongod> {
  mkdirSync(join(options.dir, 'mongodb'), { recursive: true });
  const server = { title: TITLE, pidFile: pidFile(options.dir), preferred: { mongodb: 27017 } };
  return startOnFreePorts(server, options, ({ mongodb }) => startOnce(options, mongodb));
}

async function startOnce(
  { binary, dir, env }: ServerOptions,
  port: number,
): Promise<SupervisedChild & Pick<Mongod, 'uri'>> {
  const host = `127.0.0.1:${port}`;
  const server = await startSupervisedChild({
    command: binary,
    args: mongodArguments(join(dir, 'mongodb'), port),
    env,
    logFile: join(dir, 'mongodb.log'),
    pidFile: pidFile(dir),
  });
  await waitUntilPrimary(server, host);
  return { ...server, uri: `mongodb://${host}/postback?replicaSet=${REPLICA_SET}` };
}

/** The command line of a member of the replica set. */
export function mongodArguments(dbPath: string, port: number): string[] {
  return [
    ...['--dbpath', dbPath, '--bind_ip', '127.0.0.1', '--port', `${port}`, '--replSet', REPLICA_SET],
    // The default oplog is 5% of the disk; a single node needs it for transactions and change streams only.
    ...['--wiredTigerEngineConfigString', ENGINE, '--oplogSize', '512', '--quiet', '--nounixsocket'],
    ...PARAMETERS.flatMap((parameter) => ['--setParameter', parameter]),
  ];
}

async function waitUntilPrimary(server: SupervisedChild, host: string): Promise<void> {
  await waitUntilReady(server, TITLE, async () => {
    // A new client for each check: a client whose first connection failed does not recover ("Topology is closed").
    const client = new MongoClient(`mongodb://${host}`, { directConnection: true, serverSelectionTimeoutMS: 500 });
    try {
      const admin = client.db('admin');
      await setMemberAddress(host, (command) => admin.command(command));
      return (await admin.command({ hello: 1 })).isWritablePrimary === true;
    } finally {
      await client.close();
    }
  });
}

/**
 * Sets host and port of the only member: creates the replica set on the first run, reconfigures it when the port has
 * changed.
 */
async function setMemberAddress(host: string, command: (command: Document) => Promise<Document>): Promise<void> {
  const member = { _id: 0, host };
  try {
    const { config } = await command({ replSetGetConfig: 1 });
    if (config.members.length === 1 && config.members[0].host === host) return;
    const moved = { ...config, version: config.version + 1, members: [{ ...config.members[0], host }] };
    await command({ replSetReconfig: moved, force: true });
  } catch (error) {
    if (!(error instanceof MongoServerError) || error.code !== NOT_YET_INITIALIZED) throw error;
    // A single node has no rivals, so it need not wait the default ten seconds for an election.
    const settings = { electionTimeoutMillis: 1_000 };
    await command({ replSetInitiate: { _id: REPLICA_SET, members: [member], settings } });
  }
}

function pidFile(dir: string): string {
  return join(dir, 'mongodb.pid');
}
