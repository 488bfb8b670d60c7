import { Client } from '@opensearch-project/opensearch';
import type { IndexRow, SearchIndex } from '../../../../domain/content/search.js';
import { createTextAnalysis } from '../analysis.js';
import { type Change, createChangeQueue } from '../changes.js';
import { dimensionsIn } from '../vectors.js';
import { writeRows } from './bulk.js';
import { readable } from './errors.js';
import { createIndices } from './indices.js';
import { fieldsFor, type IndexSchema } from './mapping.js';
import { searchIndex } from './query.js';
import { createSchemas } from './schemas.js';

export interface OpenSearchOptions {
  /** With user and password, if the cluster requires them. */
  url: string;
  /** Begins the name of every index. */
  prefix: string;
}

/**
 * The search index in OpenSearch with its k-NN plugin, one index per table. Texts arrive analysed, so both engines find the
 * same words. OpenSearch merges its segments itself.
 */
export function createOpenSearchIndex({ url, prefix }: OpenSearchOptions): SearchIndex & { ping(): Promise<boolean> } {
  const client = new Client({ node: url });
  const indices = createIndices(client);
  const schemas = createSchemas(client);
  const analysis = createTextAnalysis();
  const changes = createChangeQueue(commit);
  const aliasOf = (table: string) => `${prefix}-${table}`;

  /** Adds the fields that these rows need and the index lacks. Another process may add the same. */
  async function fitFields(alias: string, rows: readonly IndexRow[], schema: IndexSchema): Promise<void> {
    const needed = Object.entries(fieldsFor(rows, dimensionsIn(rows, schema.dimensions)));
    const properties = Object.fromEntries(needed.filter(([name]) => !schema.columns.has(name)));
    if (Object.keys(properties).length === 0) return;
    await client.indices.putMapping({ index: alias, body: { properties } as object });
    await schemas.read(alias);
  }

  async function commit(table: string, change: Change): Promise<void> {
    const alias = aliasOf(table);
    const { rows, remove } = await analysis.analyseChange(change);
    if (rows.length === 0) return writeRows(client, alias, rows, remove);
    await schemas.write(alias, async (schema) => {
      await fitFields(alias, rows, schema);
      await writeRows(client, alias, rows, remove);
    });
  }

  /** Gives errors of the client a form that callers know. */
  async function on<T>(table: string, work: (alias: string) => Promise<T>): Promise<T> {
    try {
      return await work(aliasOf(table));
    } catch (error) {
      throw readable(error, table);
    }
  }

  return {
    create: (table) => on(table, (alias) => indices.create(alias)),
    clear: (table) => on(table, (alias) => indices.clear(alias).finally(() => schemas.forget(alias))),
    exists: (table) => on(table, (alias) => indices.hasAlias(alias)),
    write: (table, rows, remove = []) => on(table, () => changes.push(table, { rows, remove })),
    search: (table, request) =>
      on(table, (alias) =>
        schemas.search(alias, (schema) => searchIndex({ client, alias, schema, analysis }, request)),
      ),
    warm: (table) =>
      on(table, async (alias) => {
        const schema = await schemas.read(alias);
        const { dimensions } = schema;
        const vector = dimensions === null ? null : new Float32Array(dimensions).fill(1);
        const request = { mode: 'hybrid', query: 'warm', operator: 'or', vector, limit: 1 } as const;
        await searchIndex({ client, alias, schema, analysis }, request);
      }),
    compact: (table) =>
      on(table, async (alias) => {
        // Segments with few deleted rows stay as they are.
        await client.indices.forcemerge({ index: alias, only_expunge_deletes: true });
      }),
    drop: (table) => on(table, (alias) => indices.drop(alias).finally(() => schemas.forget(alias))),
    ping: () =>
      client.ping().then(
        () => true,
        () => false,
      ),
    async close() {
      await changes.idle();
      await client.close();
    },
  };
}
