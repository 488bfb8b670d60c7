import { BSON, type Document, Long, MaxKey, MinKey } from 'mongodb';

/** How the documents of a collection are distributed over the shards of a cluster, or why they are not. */
export type Sharding = { key: string; together?: true } | { notSharded: string };

/** By the organisation: `together` keeps an organisation's documents of all these collections on one shard. */
const BY_ORG = { key: 'org', together: true } as const;
/** The id is the organisation. */
const BY_ORG_AS_ID = { key: '_id', together: true } as const;

/**
 * The shard key of each collection, hashed. A key of one field, because every unique index must begin with the whole key.
 * The other ids stay unique, although MongoDB checks them on each shard alone: they are random, or begin with the organisation or
 * with a random id.
 *
 * The documents of one transaction have the same organisation, and so the same shard. The indexes are in `indexes.ts`.
 */
export const SHARDING: Readonly<Record<string, Sharding>> = {
  organisations: BY_ORG_AS_ID,
  registrations: BY_ORG_AS_ID,
  crew_signing_secrets: BY_ORG_AS_ID,
  payment_signing_secrets: BY_ORG_AS_ID,
  idempotency_keys: BY_ORG,
  quota_gates: BY_ORG,
  databases: BY_ORG,
  items: BY_ORG,
  removed_items: BY_ORG,
  feedback: BY_ORG,
  feedback_tallies: BY_ORG,
  deliveries: BY_ORG,
  delivery_replays: BY_ORG,
  authentications: BY_ORG,
  eligibility_data: BY_ORG,
  ai_jobs: BY_ORG,
  ai_job_results: BY_ORG,
  uploads: BY_ORG,
  signing_keys: BY_ORG,
  crew_executions: BY_ORG,
  crew_steps: BY_ORG,
  crew_feedback: BY_ORG,
  connectors: BY_ORG,
  connector_resources: BY_ORG,
  checkpoints: BY_ORG,
  unclaimed_files: BY_ORG,
  // The largest collections, in no transaction: the databases of a large organisation are spread.
  chunks: { key: 'database_id' },
  entities: { key: 'database_id' },
  relations: { key: 'database_id' },
  'files.chunks': { key: 'files_id' },
  // Written all the time, and found by id.
  model_tokens: { key: '_id' },
  rate_limits: { key: '_id' },
  'files.files': { notSharded: 'one small document for each file; the content is in files.chunks' },
  api_keys: { notSharded: 'found by the hash of the key, before the organisation is known' },
  delivery_lanes: { notSharded: 'a few documents; a lane has deliveries of many organisations' },
  index_rebuilds: { notSharded: 'a few documents; a rebuild covers many organisations' },
  compaction_leases: { notSharded: 'a few documents' },
  processes: { notSharded: 'a document for each process' },
  process_ends: { notSharded: 'a few documents' },
  sweeps: { notSharded: 'a few documents' },
  leases: { notSharded: 'a few documents' },
  migrations: { notSharded: 'a few documents' },
  backups: { notSharded: 'a few documents' },
};

/** A command, and the database that it is sent to: `admin`, or that of the service. */
export interface ShardingCommand {
  on: 'admin' | 'service';
  command: Document;
}

/** A range of hashed keys that a zone has, as `config.tags` stores it. */
export interface ZoneRange {
  ns: string;
  min: Document;
  max: Document;
  tag: string;
}

/** Hashed keys are 64-bit numbers with a sign. */
const HASHES = 2n ** 64n;
const LOWEST = -(2n ** 63n);

/** @returns the zone of a shard */
const zoneOf = (shard: string): string => `postback-${shard}`;

/**
 * The commands that shard the collections of a database. Each shard has a zone, and each zone an equal part of the hashes, the
 * same part in every collection that keeps organisations together. All can be repeated.
 * @param shards names of all shards
 * @param present the ranges that the cluster has now; those of another number of shards are removed
 */
export function shardingCommands(
  database: string,
  shards: readonly string[],
  present: readonly ZoneRange[],
): ShardingCommand[] {
  const admin = (command: Document): ShardingCommand => ({ on: 'admin', command });
  const names = [...shards].sort();
  const bounds = names.map((_, n) => LOWEST + (HASHES * BigInt(n)) / BigInt(names.length));
  const lower = (n: number) => (n === 0 ? new MinKey() : Long.fromBigInt(bounds[n]!));
  const upper = (n: number) => (n === names.length - 1 ? new MaxKey() : Long.fromBigInt(bounds[n + 1]!));
  const commands = [
    admin({ enableSharding: database }),
    ...names.map((shard) => admin({ addShardToZone: shard, zone: zoneOf(shard) })),
  ];
  for (const [name, sharding] of Object.entries(SHARDING)) {
    if ('notSharded' in sharding) continue;
    const { key, together } = sharding;
    const namespace = `${database}.${name}`;
    const hashed = { [key]: 'hashed' };
    const ranges = together
      ? names.map((shard, n) => ({ min: { [key]: lower(n) }, max: { [key]: upper(n) }, zone: zoneOf(shard) }))
      : [];
    const text = ({ min, max, zone }: { min: Document; max: Document; zone: string }) =>
      BSON.EJSON.stringify({ min, max, zone }, { relaxed: false });
    const wanted = new Set(ranges.map(text));
    const outdated = present.filter(
      ({ ns, min, max, tag }) => ns === namespace && !wanted.has(text({ min, max, zone: tag })),
    );
    commands.push({
      on: 'service',
      command: { createIndexes: name, indexes: [{ key: hashed, name: `${key}_hashed` }] },
    });
    for (const { min, max } of outdated) commands.push(admin({ updateZoneKeyRange: namespace, min, max, zone: null }));
    for (const range of ranges) commands.push(admin({ updateZoneKeyRange: namespace, ...range }));
    commands.push(admin({ shardCollection: namespace, key: hashed }));
  }
  return commands;
}
