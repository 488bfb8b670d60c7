import { rowsOf } from '../domain/content/index-rows.js';
import type { IndexRow } from '../domain/content/search.js';
import { asServed } from '../domain/content/served.js';
import { isTerminal } from '../domain/states.js';
import { createSharedDependencies, type SharedDependencies } from '../runtime/dependencies.js';
import { createLogger } from '../runtime/logger.js';
import type { EmbeddedChunk } from '../storage/content/chunks.js';
import type { DatabaseRecord } from '../storage/content/databases.js';
import { runningSettings } from './data-folder.js';

/** Chunks read and written at a time. */
const BATCH = 5_000;

/**
 * `postback index rebuild`: writes the search index again from the chunks in MongoDB, vectors included. While it runs,
 * searches find what has been written so far.
 * @param databaseId internal id of the only database to rebuild; all databases when undefined
 */
export async function rebuildIndex(databaseId?: string): Promise<void> {
  const config = runningSettings(process.env);
  const settings = { ...config, POSTBACK_EMBEDDINGS: 'off' } as const;
  const log = createLogger('warn', 'rebuild');
  const dependencies = await createSharedDependencies(settings, log, { opensSecrets: false });
  try {
    for (const database of await dependencies.databases.listAll()) {
      if (database.status === 'deleting' || (databaseId !== undefined && database._id !== databaseId)) continue;
      const written = await rebuildDatabase(dependencies, database);
      console.log(`${database.org}/${database.name} (${database._id}): ${written} chunks`);
    }
  } finally {
    await dependencies.close();
  }
}

/** @returns how many chunks were written */
async function rebuildDatabase(dependencies: SharedDependencies, database: DatabaseRecord): Promise<number> {
  const { index, chunks } = dependencies;
  await index.create(database._id);
  await index.clear(database._id);
  let batch: EmbeddedChunk[] = [];
  let written = 0;
  const flush = async () => {
    const rows = await indexRows(dependencies, database, batch);
    if (rows.length > 0) await index.write(database._id, rows);
    written += rows.length;
    batch = [];
  };
  for await (const chunk of chunks.streamDatabase(database._id)) {
    batch.push(chunk);
    if (batch.length === BATCH) await flush();
  }
  await flush();
  await index.compact(database._id);
  return written;
}

/** The index rows of these chunks: of served versions, and of versions in progress, whose rows may be written already. */
async function indexRows(
  { items }: Pick<SharedDependencies, 'items'>,
  { metadata_schema }: DatabaseRecord,
  chunks: readonly EmbeddedChunk[],
): Promise<IndexRow[]> {
  const owners = await items.listByKeys([...new Set(chunks.map((chunk) => chunk.item))]);
  const current = new Map(owners.map((item) => [item._id, item]));
  return chunks.flatMap((chunk) => {
    const item = current.get(chunk.item);
    if (item?.served_version === chunk.version) return rowsOf(asServed(item), [chunk], metadata_schema);
    if (item?.version !== chunk.version || isTerminal(item.indexing_status)) return [];
    return rowsOf(item, [chunk], metadata_schema);
  });
}
