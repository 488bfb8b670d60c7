import { BSON, type Db } from 'mongodb';
import { openCollections } from '../storage/collections.js';
import { readMigrations } from '../storage/migrations/run.js';
import { SHARDING, type ShardingCommand, shardingCommands, type ZoneRange } from '../storage/sharding.js';
import { runningSettings } from './data-folder.js';
import { print } from './remote/output.js';

interface ShardOptions {
  dryRun?: boolean;
  json?: boolean;
}

/** Stand for the shards of a cluster that is not there. */
const SOME_SHARDS = ['<first shard>', '<second shard>'];
/** What `hello` of a mongos reports. */
const MONGOS = 'isdbgrid';

/**
 * `postback shard`: distributes the collections over the shards of a cluster.
 * @param options `dryRun` prints the commands and sends none
 * @throws Error when the server is not a mongos, or the database is not ready for it
 */
export async function shard({ dryRun = false, json }: ShardOptions): Promise<void> {
  const collections = await openCollections(runningSettings(process.env).MONGODB_URI, 'postback-shard');
  const { db, mongoClient } = collections;
  try {
    const isMongos = (await db.admin().command({ hello: 1 })).msg === MONGOS;
    if (!isMongos && !dryRun) {
      throw new Error(
        'This server is not a mongos, so it has no shards: set MONGODB_URI to the mongos of a sharded cluster. "postback shard --dry-run" shows the commands.',
      );
    }
    const commands = shardingCommands(
      db.databaseName,
      isMongos ? await listShards(db) : SOME_SHARDS,
      isMongos
        ? await mongoClient.db('config').collection<ZoneRange>('tags').find({}, { promoteLongs: false }).toArray()
        : [],
    );
    if (dryRun) {
      const note = isMongos ? [] : ['// This server is not a mongos: the names of the shards are made up.'];
      print({ json, data: { commands: commands.map(toText) } }, () => [...note, ...commands.map(toText)].join('\n'));
      return;
    }
    await requireContracted(db);
    for (const { on, command } of commands) {
      console.error(toText({ on, command }));
      await (on === 'admin' ? db.admin().command(command) : db.command(command));
    }
    const sharded = Object.entries(SHARDING).flatMap(([name, sharding]) => ('key' in sharding ? [name] : []));
    print(
      { json, data: { sharded } },
      () => `${sharded.length} collections are sharded. The balancer moves their documents.`,
    );
  } finally {
    await mongoClient.close();
  }
}

async function listShards(db: Db): Promise<string[]> {
  const { shards } = await db.admin().command({ listShards: 1 });
  return shards.map(({ _id }: { _id: string }) => _id);
}

/** Records without the organisation, and unique indexes without it, cannot be sharded. */
async function requireContracted(db: Db): Promise<void> {
  const { migrations } = await readMigrations(db);
  const missing = migrations.filter(({ state }) => state !== 'done').map(({ id }) => id);
  if (missing.length === 0) return;
  throw new Error(
    `The database lacks the migrations ${missing.join(', ')}: run "postback migrate run --contract" when no process of an older release is left, then restart all processes.`,
  );
}

/** @returns the command as mongosh takes it */
function toText({ on, command }: ShardingCommand): string {
  const text = BSON.EJSON.stringify(command, { relaxed: false })
    .replace(/\{"\$numberLong":"(-?\d+)"\}/g, 'Long("$1")')
    .replace(/\{"\$minKey":1\}/g, 'MinKey()')
    .replace(/\{"\$maxKey":1\}/g, 'MaxKey()');
  return on === 'admin' ? `db.adminCommand(${text})` : `db.runCommand(${text})`;
}
