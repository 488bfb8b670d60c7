import { placeOf } from '../../../domain/content/index-generations.js';
import { type SearchIndex, SearchIndexError } from '../../../domain/content/search.js';

/** The engines of this process. */
export interface SearchEngines {
  lancedb: SearchIndex;
  /** Absent: not configured. */
  opensearch?: SearchIndex | undefined;
}

/** A search index whose tables are in several engines. The name of a table shows its engine: see `tableOf`. */
export function createSearchIndex(engines: SearchEngines): SearchIndex {
  /** @throws SearchIndexError when the engine is not configured */
  async function on<T>(table: string, work: (index: SearchIndex, name: string) => Promise<T>): Promise<T> {
    const { engine, name } = placeOf(table);
    const index = engines[engine];
    if (!index) {
      throw new SearchIndexError('The search index of a database is in OpenSearch: set POSTBACK_SEARCH_URL.');
    }
    return work(index, name);
  }

  return {
    create: (table) => on(table, (index, name) => index.create(name)),
    clear: (table) => on(table, (index, name) => index.clear(name)),
    exists: (table) => on(table, (index, name) => index.exists(name)),
    write: (table, rows, remove) => on(table, (index, name) => index.write(name, rows, remove)),
    search: (table, request) => on(table, (index, name) => index.search(name, request)),
    warm: (table) => on(table, (index, name) => index.warm(name)),
    compact: (table) => on(table, (index, name) => index.compact(name)),
    async drop(table) {
      const { engine, name } = placeOf(table);
      // An engine that is not configured can have no tables of new databases.
      await engines[engine]?.drop(name);
    },
    async close() {
      await Promise.allSettled([engines.lancedb.close(), engines.opensearch?.close()]);
    },
  };
}
