import { tableOf } from '../domain/content/index-generations.js';
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
  const databases = await rebuildIndexes(database, ({ id, org, name, chunks }) => {
    if (!json) console.log(`${org}/${name} (${id}): ${chunks} chunks`);
  });
  if (json) console.log(JSON.stringify({ databases }, null, 2));
}

/**
 * Writes the search indexes again from the chunks in MongoDB.
 * @param only internal id of a database; all without it
 * @param onRebuilt called after each database
 * @throws ServiceError DATABASE_NOT_FOUND
 */
export async function rebuildIndexes(
  only?: string,
  onRebuilt: (database: RebuiltDatabase) => void = () => undefined,
): Promise<RebuiltDatabase[]> {
  const settings = { ...runningSettings(process.env), POSTBACK_EMBEDDINGS: 'off' } as const;
  const dependencies = await createSharedDependencies(settings, createLogger('warn', 'rebuild'), {
    opensSecrets: false,
  });
  const rebuilt: RebuiltDatabase[] = [];
  try {
    if (only !== undefined) await dependencies.databaseIndexes.requireOfAny(only);
    for (const database of await dependencies.databaseIndexes.listAll()) {
      const { _id: id, org, name, status } = database;
      if (status === 'deleting' || id !== (only ?? id)) continue;
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
  const { generation } = database.index;
  const table = tableOf(database._id, database.index);
  await index.create(table);
  await index.clear(table);
  await databaseIndexes.markCleared(database, generation);
  let written = 0;
  for (let after: string | null = null; ; ) {
    const page: EmbeddedChunk[] = await chunks.listOfDatabase(database._id, generation, { after, limit: BATCH });
    if (page.length === 0) break;
    const owners = await items.listByKeys(database.org, [...new Set(page.map(({ item }) => item))]);
    const rows = rowsOfCurrent(owners, page, database.metadata_schema);
    await index.write(table, rows);
    written += rows.length;
    after = page.at(-1)!._id;
  }
  await index.compact(table);
  return written;
}
