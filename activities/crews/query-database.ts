import { z } from 'zod';
import { EmbeddingError, ProviderError, ServiceError } from '../../domain/errors.js';
import type { Databases } from '../../storage/content/databases.js';
import type { Retrieval } from '../../storage/content/retrieval.js';
import { type CrewTool, type ToolAccess, ToolError } from './tool.js';

export interface QueryDatabaseDependencies {
  databases: Pick<Databases, 'listReadyNames' | 'requireForOrg'>;
  retrieval: Retrieval;
}

/** Passages per query. */
const MAX_PASSAGES = 8;

/** Queries a content database of the execution's own organisation, of those that the crew names. */
export function queryDatabase({ databases, retrieval }: QueryDatabaseDependencies): CrewTool {
  return {
    arguments: z.object({ database: z.string().min(1).max(64), query: z.string().trim().min(1).max(2_000) }),

    async offer({ org, databases: allowed }) {
      const names = await databases.listReadyNames(org, allowed);
      return {
        description:
          'Finds the passages of a content database that match a question best, by words and by meaning. ' +
          'Returns them numbered, each under the title of its document.',
        parameters: {
          type: 'object',
          properties: {
            database: {
              type: 'string',
              description: "The database's name",
              ...(names.length > 0 ? { enum: names } : {}),
            },
            query: { type: 'string', description: 'The question, or the words to search for' },
          },
          required: ['database', 'query'],
          additionalProperties: false,
        },
      };
    },

    async run({ org, databases: allowed }: ToolAccess, { database, query }: { database: string; query: string }) {
      if (allowed && !allowed.includes(database)) throw new ToolError(`There is no database "${database}".`);
      try {
        const record = await databases.requireForOrg(org, database);
        if (record.status !== 'ready') throw new ToolError(`The database "${database}" is not ready yet.`);
        const { chunks } = await retrieval.query(record, {
          query,
          mode: 'hybrid',
          operator: 'or',
          max_results: MAX_PASSAGES,
          graph_context: false,
        });
        if (chunks.length === 0) return 'No passages were found.';
        return chunks.map(({ title, source_id, text }, n) => `[${n + 1}] ${title ?? source_id}\n${text}`).join('\n\n');
      } catch (error) {
        if (error instanceof ServiceError && error.status < 500) throw new ToolError(error.message);
        if (error instanceof EmbeddingError) {
          throw new ProviderError('The embedding model is currently not available.', true);
        }
        throw error;
      }
    },
  };
}
