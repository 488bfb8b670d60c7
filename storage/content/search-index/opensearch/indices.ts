import type { Client } from '@opensearch-project/opensearch';
import { isConflict, isMissing } from './errors.js';
import { NEW_INDEX } from './mapping.js';

/** Attempts at replacing an index, when another process replaces it at the same time. */
const ATTEMPTS = 5;

/**
 * The indices behind the aliases of tables. An index has its alias's name and a number. Requests name the alias, so that
 * an empty index takes the place of a full one at once.
 */
export function createIndices(client: Client) {
  /** @returns the names of all indices of an alias, also of those that a killed process has left */
  async function list(alias: string): Promise<string[]> {
    const response = await client.indices.get({ index: `${alias}-*`, allow_no_indices: true });
    return Object.keys(response.body);
  }

  const hasAlias = async (alias: string): Promise<boolean> =>
    (await client.indices.existsAlias({ name: alias })).body === true;

  async function replace(alias: string): Promise<void> {
    const before = await list(alias);
    const numbers = before.map((name) => Number(name.slice(alias.length + 1))).filter(Number.isInteger);
    const next = `${alias}-${Math.max(0, ...numbers) + 1}`;
    await client.indices.create({ index: next, body: NEW_INDEX });
    const actions = [{ add: { index: next, alias } }, ...before.map((index) => ({ remove_index: { index } }))];
    await client.indices.updateAliases({ body: { actions } });
  }

  return {
    hasAlias,

    async create(alias: string): Promise<void> {
      if (await hasAlias(alias)) return;
      try {
        await client.indices.create({ index: `${alias}-1`, body: { ...NEW_INDEX, aliases: { [alias]: {} } } });
      } catch (error) {
        // Another process has created it, or a killed one has left it without its alias.
        if (!isConflict(error)) throw error;
        if (!(await hasAlias(alias))) await replace(alias);
      }
    },

    /** Puts an empty index in the place of the current one. */
    async clear(alias: string): Promise<void> {
      for (let attempt = 1; ; attempt += 1) {
        try {
          return await replace(alias);
        } catch (error) {
          if (attempt === ATTEMPTS || !(isConflict(error) || isMissing(error))) throw error;
        }
      }
    },

    async drop(alias: string): Promise<void> {
      const names = await list(alias);
      if (names.length > 0) await client.indices.delete({ index: names.join(','), ignore_unavailable: true });
    },
  };
}
