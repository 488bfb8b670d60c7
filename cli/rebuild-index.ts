import type { IndexRow } from '../domain/search.js';
import { indexRow, unpackVector } from '../storage/chunks.js';
import { compose } from './compose.js';
import { createLogger } from './logger.js';
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
    for (const database of await parts.databases.all()) {
      if (only !== undefined && database._id !== only) continue;
      await parts.index.create(database._id);
      await parts.index.clear(database._id);
      let rows: IndexRow[] = [];
      let written = 0;
      const flush = async () => {
        if (rows.length > 0) await parts.index.write(database._id, rows);
        written += rows.length;
        rows = [];
      };
      const versions = await parts.items.indexedVersions(database._id);
      for await (const chunk of parts.chunks.ofDatabase(database._id)) {
        if (versions.get(chunk.item) !== chunk.version) continue;
        rows.push(indexRow(chunk, chunk.vector ? unpackVector(chunk.vector) : null));
        if (rows.length === BATCH) await flush();
      }
      await flush();
      await parts.index.compact(database._id);
      console.log(`${database.org}/${database.name} (${database._id}): ${written} chunks`);
    }
  } finally {
    await parts.close();
  }
}
