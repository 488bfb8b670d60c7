import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { Collection, Long, MaxKey, MinKey } from 'mongodb';
import type { Collections } from '../storage/collections.js';
import { INDEXES, LANE_INDEX } from '../storage/indexes.js';
import { SHARDING, shardingCommands } from '../storage/sharding.js';
import { runCommand } from './support/command.js';
import { openTestCollections } from './support/mongodb.js';
import { databaseBeside, sharedProduct } from './support/product.js';

const uri = databaseBeside(sharedProduct().mongodbUri, 'sharding');

/** The shard key of each collection that has one. */
const KEYS = Object.entries(SHARDING).flatMap(([name, sharding]) =>
  'key' in sharding ? [[name, sharding.key]] : [],
) as [string, string][];

describe('shard keys', () => {
  let collections: Collections;
  beforeAll(async () => {
    collections = await openTestCollections(uri);
  });
  afterAll(() => collections.mongoClient.close());

  test('are stated for every collection, or why it has none', () => {
    const opened = Object.values(collections).flatMap((each) =>
      each instanceof Collection ? [each.collectionName] : [],
    );
    expect(opened.length).toBeGreaterThan(30);
    const named = sourcesOf('storage').flatMap((source) =>
      [...source.matchAll(/\.collection(?:<[^(]*>)?\('([\w.]+)'\)/g)].map(([, name]) => name!),
    );
    expect(named).toContain('migrations');
    const known = new Set([...opened, ...named, ...Object.keys(INDEXES), 'files.chunks']);
    known.delete('tags');
    expect(Object.keys(SHARDING).sort()).toEqual([...known].sort());
  });

  test('begin every unique index', () => {
    const unique = KEYS.flatMap(([name, key]) =>
      (INDEXES[name] ?? []).filter((index) => index.unique).map((index) => [name, key, Object.keys(index.key)[0]]),
    );
    expect(unique.length).toBeGreaterThanOrEqual(6);
    for (const [name, key, first] of unique) expect([name, first]).toEqual([name, key]);
  });

  test('begin every compound index, except those for work across organisations', () => {
    /** Read by lanes, and by the reconciler. */
    const ACROSS = [JSON.stringify(LANE_INDEX), JSON.stringify({ status: 1, updated_at: 1 })];
    const others = KEYS.flatMap(([name, key]) =>
      (INDEXES[name] ?? [])
        .map((index) => index.key)
        .filter((fields) => Object.keys(fields).length > 1 && Object.keys(fields)[0] !== key)
        .map((fields) => JSON.stringify(fields)),
    );
    expect(others.sort()).toEqual(ACROSS.sort());
  });
});

describe('the commands that shard a database', () => {
  const commands = shardingCommands('service', ['b', 'a', 'c'], []);
  const of = (name: string) =>
    commands.map(({ command }) => command).filter((command) => JSON.stringify(command).includes(`"${name}"`));

  test('shard each collection by its hashed key, after the index that MongoDB requires', () => {
    const sharded = commands.flatMap(({ on, command }) =>
      command.shardCollection ? [[on, command.shardCollection, command.key]] : [],
    );
    expect(sharded).toEqual(KEYS.map(([name, key]) => ['admin', `service.${name}`, { [key]: 'hashed' }]));
    for (const [name, key] of KEYS) {
      const at = (found: (command: object) => boolean) => commands.findIndex(({ command }) => found(command));
      const index = at((command) => 'createIndexes' in command && command.createIndexes === name);
      expect(commands[index]).toEqual({
        on: 'service',
        command: { createIndexes: name, indexes: [{ key: { [key]: 'hashed' }, name: `${key}_hashed` }] },
      });
      expect(index).toBeLessThan(
        at((command) => 'shardCollection' in command && command.shardCollection === `service.${name}`),
      );
    }
  });

  test('give each shard the same part of the organisations in every collection of a transaction', () => {
    expect(commands.slice(0, 4).map(({ command }) => command)).toEqual([
      { enableSharding: 'service' },
      ...['a', 'b', 'c'].map((shard) => ({ addShardToZone: shard, zone: `postback-${shard}` })),
    ]);
    const rangesOf = (name: string, key: string) =>
      of(`service.${name}`)
        .filter(({ updateZoneKeyRange }) => updateZoneKeyRange)
        .map(({ min, max, zone }) => [min[key], max[key], zone]);
    const expected = rangesOf('deliveries', 'org');
    expect(expected).toEqual([
      [new MinKey(), Long.fromString('-3074457345618258603'), 'postback-a'],
      [Long.fromString('-3074457345618258603'), Long.fromString('3074457345618258602'), 'postback-b'],
      [Long.fromString('3074457345618258602'), new MaxKey(), 'postback-c'],
    ]);
    for (const name of ['items', 'ai_jobs', 'ai_job_results', 'idempotency_keys', 'quota_gates', 'crew_steps'])
      expect(rangesOf(name, 'org')).toEqual(expected);
    expect(rangesOf('registrations', '_id')).toEqual(expected);
    expect(rangesOf('chunks', 'database_id')).toEqual([]);
  });

  test('repeated with another shard, first remove the ranges that are different now', () => {
    const present = commands.flatMap(({ command: { updateZoneKeyRange: ns, min, max, zone } }) =>
      ns ? [{ ns, min, max, tag: zone }] : [],
    );
    const removed = (shards: string[]) =>
      shardingCommands('service', shards, present).filter(({ command }) => command.zone === null);
    expect(removed(['a', 'b', 'c'])).toEqual([]);
    expect(removed(['a', 'b', 'c', 'd'])).toHaveLength(present.length);
  });

  test('are printed by --dry-run, as mongosh takes them', async () => {
    const { out, code } = await runCommand(['shard', '--dry-run'], { MONGODB_URI: uri });
    expect(code).toBe(0);
    expect(out).toContain('This server is not a mongos: the names of the shards are made up.');
    expect(out).toContain('db.adminCommand({"enableSharding":"sharding"})');
    expect(out).toContain(
      'db.adminCommand({"updateZoneKeyRange":"sharding.items","min":{"org":MinKey()},"max":{"org":Long("0")},"zone":"postback-<first shard>"})',
    );
    expect(out).toContain('db.adminCommand({"shardCollection":"sharding.items","key":{"org":"hashed"}})');
  });

  test('are refused by a server that is not a mongos', async () => {
    const { out, err, code } = await runCommand(['shard'], { MONGODB_URI: uri });
    expect([code, out]).toEqual([1, '']);
    expect(err).toContain('This server is not a mongos');
  });
});

/** The texts of the files in a folder. */
function sourcesOf(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((file) => file.isFile() && file.name.endsWith('.ts'))
    .map((file) => readFileSync(join(file.parentPath, file.name), 'utf8'));
}
