import type { Client } from '@opensearch-project/opensearch';
import { LRUCache } from 'lru-cache';
import { type Fields, type IndexSchema, isSameSchema, schemaOf } from './mapping.js';

/** How long a schema is used without a look at the index. Until then, a query lacks the stems of a language that is new. */
const FRESH_MS = 1_000;
/** Schemas that are kept. The least recently read is dropped. */
const MAX_KEPT = 1_000;

export type Schemas = ReturnType<typeof createSchemas>;

/**
 * The schemas of indices, by alias, as this process read them last. Another process may add fields, or replace the index by an
 * empty one, so work that uses a schema is repeated when the schema has changed.
 */
export function createSchemas(client: Client) {
  const kept = new LRUCache<string, { schema: IndexSchema; readAt: number }>({ max: MAX_KEPT });

  /** @throws Error when the table does not exist */
  async function read(alias: string): Promise<IndexSchema> {
    kept.delete(alias);
    const response = await client.indices.getMapping({ index: alias });
    const [index] = Object.values(response.body);
    const schema = schemaOf((index?.mappings?.properties ?? {}) as Fields);
    kept.set(alias, { schema, readAt: performance.now() });
    return schema;
  }

  /** Does the work again if it failed with a schema that is not the index's any more. */
  async function repeatIfChanged<T>(alias: string, schema: IndexSchema, work: Work<T>): Promise<T> {
    try {
      return await work(schema);
    } catch (error) {
      const latest = await read(alias);
      if (isSameSchema(latest, schema)) throw error;
      return work(latest);
    }
  }

  return {
    read,

    forget(alias: string): void {
      kept.delete(alias);
    },

    /** Writes with the schema that is known: OpenSearch rejects rows that do not fit the index. */
    async write(alias: string, work: Work<void>): Promise<void> {
      const known = kept.get(alias);
      await repeatIfChanged(alias, known?.schema ?? (await read(alias)), work);
    },

    /**
     * Searches with the schema that is known. An older one is compared with the index's, beside the search and not before it,
     * and the search is repeated if it has changed.
     */
    async search<T>(alias: string, work: Work<T>): Promise<T> {
      const known = kept.get(alias);
      if (!known) return work(await read(alias));
      const { schema } = known;
      // An index without vectors gets its first at any time, and a search without their field would not fail.
      const isFresh = performance.now() - known.readAt < FRESH_MS && schema.dimensions !== null;
      if (isFresh) return repeatIfChanged(alias, schema, work);
      const [found, latest] = await Promise.allSettled([work(schema), read(alias)]);
      if (latest.status === 'rejected') throw latest.reason;
      if (!isSameSchema(latest.value, schema)) return work(latest.value);
      if (found.status === 'rejected') throw found.reason;
      return found.value;
    },
  };
}

/** Can be repeated. */
type Work<T> = (schema: IndexSchema) => Promise<T>;
