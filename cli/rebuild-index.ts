import { tableOf } from '../domain/content/index-generations.js';
import type { Config } from '../runtime/config.js';
import { createSharedDependencies, type SharedDependencies } from '../runtime/dependencies.js';
import { createLogger } from '../runtime/logger.js';
import type { EmbeddedChunk } from '../storage/content/chunks.js';
import type { DatabaseRecord } from '../storage/content/databases.js';
import { rowsOfCurrent } from '../storage/content/index-rows.js';
import { runningSettings } from './data-folder.js';

export interface RebuildIndexOptions {
  /** Internal id of the only database to rebuild; all databases without it. */
  database?: string;
  /** Print JSON. */
  json?: boolean;
}

/** Chunks read and written at a time. */
const BATCH = 5_000;

/** A database whose index was written again. */
interface RebuiltDatabase {
  id: string;
  org: string;
  name: string;
  chunks: number;
}

/**
 * `postback index rebuild`: writes the search index again from the chunks in MongoDB, vectors included. While it runs,
 * searches find what has been written so far.
 */
export async function rebuildIndex({ database, json }: RebuildIndexOptions): Promise<void> {
  const databases = await rebuildIndexes({
    database,
    onRebuilt({ id, org, name, chunks }) {
      if (!json) console.log(`${org}/${name} (${id}): ${chunks} chunks`);
    },
  });
  if (json) console.log(JSON.stringify({ databases }, null, 2));
}

/** Which indexes are written again. */
interface Rebuild {
  /** Settings of the instance; those of the environment without them. */
  config?: Config;
  /** Internal id of the only database; all databases without it. */
  database?: string | undefined;
  /** Only the databases of this organisation. */
  org?: string;
  /** Called after each database. */
  onRebuilt?: (database: RebuiltDatabase) => void;
}

/** Writes the search indexes again from the chunks in MongoDB. @throws ServiceError DATABASE_NOT_FOUND */
export async function rebuildIndexes({
  config = runningSettings(process.env),
  database: only,
  org: owner,
  onRebuilt = () => undefined,
}: Rebuild = {}): Promise<RebuiltDatabase[]> {
  const settings = { ...config, POSTBACK_EMBEDDINGS: 'off' } as const;
  const dependencies = await createSharedDependencies(settings, createLogger('warn', 'rebuild'), {
    opensSecrets: false,
  });
  const rebuilt: RebuiltDatabase[] = [];
  try {
    if (only !== undefined) await dependencies.databaseIndexes.requireOfAny(only);
    for (const database of await dependencies.databaseIndexes.listAll()) {
      const { _id: id, org, name } = database;
      if (database.status === 'deleting' || id !== (only ?? id) || org !== (owner ?? org)) continue;
      const written = { id, org, name, chunks: await rebuildDatabase(dependencies, database) };
      rebuilt.push(written);
      onRebuilt(written);
    }
    return rebuilt;
  } finally {
    await dependencies.close();
  }
}

/** @returns how many chunks were written */
async function rebuildDatabase(dependencies: SharedDependencies, database: DatabaseRecord): Promise<number> {
  const { index, chunks, databaseIndexes, items } = dependencies;
  const table = tableOf(database._id, database.index);
  await index.create(table);
  await index.clear(table);
  await databaseIndexes.markCleared(database, database.index.generation);
  let batch: EmbeddedChunk[] = [];
  let written = 0;
  const flush = async () => {
    const owners = await items.listByKeys(database.org, [...new Set(batch.map(({ item }) => item))]);
    const rows = rowsOfCurrent(owners, batch, database.metadata_schema);
    if (rows.length > 0) await index.write(table, rows);
    written += rows.length;
    batch = [];
  };
  for await (const chunk of chunks.streamDatabase(database._id, database.index.generation)) {
    batch.push(chunk);
    if (batch.length === BATCH) await flush();
  }
  await flush();
  await index.compact(table);
  return written;
}
