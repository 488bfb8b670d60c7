import { existsSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { parseEnv } from 'node:util';
import { createSealer, type Sealer, sealingKeyIds } from '../../domain/sealing.js';
import type { Config } from '../../runtime/config.js';
import { filesLocation } from '../../runtime/provider-config.js';
import { type Collections, openCollections } from '../../storage/collections.js';
import { createFiles } from '../../storage/files/index.js';
import { type MigrationRecord, readMigrations } from '../../storage/migrations/run.js';
import { createMoveStates } from '../../storage/moves/states.js';
import { keysInUse } from '../../storage/sealed-fields.js';
import { existingSealingKey, runningSettings } from '../data-folder.js';

export type Cell = Awaited<ReturnType<typeof openCell>>;

/**
 * Opens one of the cells of a move.
 * @param settings a file of settings as `.env` files have them; without it, those of the environment
 * @throws Error when the settings are incomplete, or the cell cannot be reached
 */
export async function openCell(name: 'source' | 'target', settings: string | undefined) {
  const config = settings === undefined ? runningSettings(process.env) : settingsOf(settings);
  const keys = existingSealingKey(config);
  if (keys === null) throw new Error(`the settings of the ${name} have no POSTBACK_SEALING_KEY`);
  const collections = await openCollections(config.MONGODB_URI, 'postback-move');
  try {
    const files = await createFiles(collections, filesLocation(config));
    await requireKeyInUse(name, collections, keys);
    return {
      name,
      config,
      collections,
      db: collections.db,
      sealer: createSealer(keys) as Sealer,
      files,
      states: createMoveStates(collections),
      engine: config.POSTBACK_SEARCH_URL === undefined ? ('lancedb' as const) : ('opensearch' as const),
      close: () => collections.mongoClient.close(),
    };
  } catch (error) {
    await collections.mongoClient.close();
    throw error;
  }
}

function settingsOf(path: string): Config {
  const env = parseEnv(readFileSync(path, 'utf8'));
  // Without them, those of the instance in this folder would be used, which is another cell.
  if (env.POSTBACK_DATA_DIR === undefined && (!env.MONGODB_URI || !env.POSTBACK_SEALING_KEY)) {
    throw new Error(`${path} must have MONGODB_URI and POSTBACK_SEALING_KEY, or the POSTBACK_DATA_DIR of an instance`);
  }
  return runningSettings(env as NodeJS.ProcessEnv);
}

/** @throws Error for a key that seals nothing there, although other values are sealed */
async function requireKeyInUse(name: string, { db }: Pick<Collections, 'db'>, keys: string): Promise<void> {
  const used = await keysInUse(db);
  const held = sealingKeyIds(keys);
  if (used.size > 0 && !held.some((id) => used.has(id))) {
    throw new Error(
      `secrets of the ${name} are sealed with the key ${[...used].join(', ')}, and its settings have ${held.join(', ')}`,
    );
  }
}

/**
 * @param withIndex whether the command writes and deletes search indexes
 * @throws Error when a purge of the source would delete what the target uses
 */
export function requireApart(source: Cell, target: Cell, withIndex: boolean): void {
  const shared = (name: string, of: (config: Config) => unknown) => {
    const [a, b] = [of(source.config), of(target.config)].map((value) => JSON.stringify(value));
    if (a !== undefined && a === b) throw new Error(`source and target share ${name}: each cell needs its own`);
  };
  shared('the bucket of files', filesLocation);
  if (!withIndex) return;
  shared('the search index', ({ POSTBACK_SEARCH_URL: url, POSTBACK_SEARCH_PREFIX: prefix, ...config }) =>
    url === undefined ? (config.POSTBACK_INDEX_URI ?? resolve(config.POSTBACK_DATA_DIR)) : [url, prefix],
  );
}

/** @throws Error when the cells cannot exchange records */
export async function requireSameRelease(source: Cell, target: Cell): Promise<void> {
  for (const { name, db } of [source, target]) {
    const { migrations, running } = await readMigrations(db);
    const waiting = migrations.filter(({ state, phase }) => state !== 'done' && phase === 'expand');
    if (running !== null || waiting.length > 0) {
      throw new Error(
        `the database of the ${name} is not migrated to this release: run \`postback migrate run\` there`,
      );
    }
  }
  // All that were run, also those that this release does not know. Indexes are not numbered.
  const ids = async ({ db }: Cell) => {
    const ran = await db
      .collection<MigrationRecord>('migrations')
      .find({ _id: /^\d{4}$/, state: 'done' })
      .toArray();
    return ran
      .map(({ _id }) => _id)
      .sort()
      .join();
  };
  if ((await ids(source)) !== (await ids(target))) {
    throw new Error('source and target have run different migrations: compare `postback migrate status` of both');
  }
  for (const { name, collections } of [source, target]) {
    const rebuild = await collections.indexRebuilds.findOne({ status: { $in: ['planning', 'running'] } });
    if (rebuild) throw new Error(`the ${name} rebuilds its search indexes: wait for its end, or cancel it`);
  }
}

/** @throws Error when this machine does not have the folder of the target's search index */
export function requireIndex({ config, engine }: Cell): void {
  const { POSTBACK_DATA_DIR, POSTBACK_INDEX_URI } = config;
  if (engine !== 'lancedb' || POSTBACK_INDEX_URI !== undefined || existsSync(POSTBACK_DATA_DIR)) return;
  throw new Error(
    `the search index of the target is in the folder ${POSTBACK_DATA_DIR}, which this machine does not have: run the ` +
      'command on the host of the target, with the settings of the source in --from, or use --skip-index',
  );
}
