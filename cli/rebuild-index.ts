import { rowsOf } from '../domain/content/index-rows.js';
import type { IndexRow } from '../domain/content/search.js';
import { type Composition, compose } from '../runtime/compose.js';
import { createLogger } from '../runtime/logger.js';
import type { EmbeddedChunk } from '../storage/content/chunks.js';
import type { DatabaseRecord } from '../storage/content/databases.js';
import { runningSettings } from './running-instance.js';
import { sealingKey } from './sealing-key.js';

const BATCH = 5_000;

/**
 * Writes the search index again from the chunks in MongoDB, vectors included. Searches answer from what has been
 * written so far while it runs. @param only a database's internal id
 */
export async function rebuildIndex(only?: string): Promise<void> {
  const config = runningSettings(process.env);
  const log = createLogger('warn', 'rebuild');

  const parts = await compose({ ...config, POSTBACK_SEALING_KEY: sealingKey(config), POSTBACK_EMBEDDINGS: 'off' }, log);
  try {
    for (const database of await parts.databases.listAll()) {
      if (database.status === 'deleting' || (only !== undefined && database._id !== only)) continue;
      await parts.index.create(database._id);
      await parts.index.clear(database._id);
      let chunks: EmbeddedChunk[] = [];
      let written = 0;
      const flush = async () => {
        const rows = await indexRows(parts, database, chunks);
        if (rows.length > 0) await parts.index.write(database._id, rows);
        written += rows.length;
        chunks = [];
      };
      for await (const chunk of parts.chunks.streamDatabase(database._id)) {
        chunks.push(chunk);
        if (chunks.length === BATCH) await flush();
      }
      await flush();
      await parts.index.compact(database._id);
      console.log(`${database.org}/${database.name} (${database._id}): ${written} chunks`);
    }
  } finally {
    await parts.close();
  }
}

/** Of these chunks, the rows that an index must hold: all but those of failed items and of earlier versions. */
async function indexRows(
  { items }: Pick<Composition, 'items'>,
  { metadata_schema }: DatabaseRecord,
  chunks: readonly EmbeddedChunk[],
): Promise<IndexRow[]> {
  const owners = await items.listByKeys([...new Set(chunks.map((chunk) => chunk.item))]);
  const current = new Map(owners.map((item) => [item._id, item]));
  return chunks.flatMap((chunk) => {
    const item = current.get(chunk.item);
    if (item?.version !== chunk.version || item.indexing_status === 'errored') return [];
    return rowsOf(item, [chunk], metadata_schema);
  });
}
