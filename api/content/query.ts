import Router from '@koa/router';
import { z } from 'zod';
import { nameSchema } from '../../domain/content/databases.js';
import { itemIdSchema } from '../../domain/content/ingest.js';
import { FILTER_GUIDE, isObject, readMetadataFilters } from '../../domain/content/metadata-filters.js';
import { ITEM_TYPES, QUERY_MODES, TEXT_OPERATORS } from '../../domain/content/search.js';
import { ServiceError } from '../../domain/errors.js';
import { contentOperations } from '../content-operations.js';
import type { Dependencies } from '../dependencies.js';
import type { RequestState } from '../request-context.js';
import { queryResultSchema } from './query-responses.js';

const operation = contentOperations('Query');

const MAX_COLLECTIONS = 100;

const weightsSchema = z
  .record(nameSchema, z.number().positive().max(100))
  .refine((weights) => Object.keys(weights).length > 0, 'must name a collection')
  .refine((weights) => Object.keys(weights).length <= MAX_COLLECTIONS, `must not exceed ${MAX_COLLECTIONS} collections`)
  .meta({ minProperties: 1, maxProperties: MAX_COLLECTIONS });
const querySchema = z
  .object({
    query: z.string().regex(/\S/, 'must not be empty').max(10_000).trim(),
    database: nameSchema,
    collection: nameSchema.optional(),
    collections: z
      .union([z.array(nameSchema).min(1).max(MAX_COLLECTIONS), weightsSchema])
      .optional()
      .meta({
        description:
          'A list, or an object of weights above 0. Scores are multiplied by the weight of their collection, divided by the ' +
          'greatest weight: a hit of a collection with weight 2 comes before hits with weight 1 and less than twice its score.',
        examples: [['manuals', 'notes'], { manuals: 2, notes: 1 }],
      }),
    type: z.enum([...ITEM_TYPES, 'all']).default('all'),
    query_by: z.enum(QUERY_MODES).default('hybrid').meta({
      description: '`text`: BM25. `vector`: cosine similarity. `hybrid`: the scores of both, fused.',
    }),
    operator: z
      .enum(TEXT_OPERATORS)
      .default('or')
      .meta({
        description:
          'How `text` and the text half of `hybrid` combine the words of the query: any word, all words, or the exact phrase. ' +
          'Words are compared by their stems. Stop words are ignored, but keep their place in a phrase.',
      }),
    max_results: z.int().min(1).max(50).default(10),
    // A record would drop a condition on `__proto__`.
    metadata_filters: z
      .unknown()
      .refine(isObject, 'must be an object of conditions')
      .meta({ type: 'object', additionalProperties: {} })
      .optional()
      .meta({ description: FILTER_GUIDE, examples: [{ brand: ['Acme', 'Bolt'], year: { $gte: 2000 } }] }),
    ids: z.array(itemIdSchema).min(1).max(1_000).optional().meta({ description: 'Search only in these items.' }),
    recency_bias: z
      .number()
      .min(0)
      .max(1)
      .default(0)
      .meta({
        description:
          'How much the time of the last change counts: the score is `(1 - bias) × relevance + bias × freshness`. Freshness is ' +
          'the place by age among the best hundred hits, from 1 for the newest to 0 for the oldest.',
      }),
    graph_context: z
      .boolean()
      .default(true)
      .meta({ description: 'Whether to return the entities and relations of the hits.' }),
    expand: z
      .int()
      .min(0)
      .max(2)
      .default(0)
      .meta({
        description:
          'Chunks of the same document before and after each hit that are returned with it, in one `text`. Hits whose texts ' +
          'meet become one, in the place of the best of them.',
      }),
    max_tokens: z
      .int()
      .min(50)
      .max(1_000_000)
      .optional()
      .meta({
        description:
          'How many tokens the texts of the response have together at most: the best hits as long as they fit, then the ' +
          'sentences of the next that still fit. A token is estimated as 3.5 bytes of UTF-8.',
      }),
    explain: z.boolean().default(false).meta({ description: 'Whether to return the parts of each score.' }),
  })
  .meta({ not: { required: ['collection', 'collections'] } });

/** Search in the ingested items. */
export function queryRoutes(deps: Dependencies): Router<RequestState> {
  const router = new Router<RequestState>();

  router.post(
    '/query',
    operation(
      {
        summary: 'Query a database',
        scope: 'read',
        description:
          'Searches by full text and by vectors, and returns the chunks that match best, with the entities and relations of ' +
          'the graph around them. Ratings by `POST /feedback` change the order within bounds.',
        body: querySchema,
        example: { database: 'library', query: 'When does the library open?', max_results: 3 },
        response: queryResultSchema,
        errors: ['DATABASE_NOT_FOUND', 'TENANT_INFRA_NOT_READY'],
      },
      async (ctx, { body, respond }) => {
        const database = await deps.databases.requireForOrg(ctx.state.principal.org, body.database);
        if (database.status !== 'ready') {
          throw new ServiceError('TENANT_INFRA_NOT_READY', `The database "${database.name}" is not ready yet.`);
        }
        const { query_by: mode, type, metadata_filters: filters, ...question } = body;
        const { chunks, graph, warning } = await deps.retrieval.query(database, {
          ...question,
          ...collectionsOf(body),
          mode,
          type: type === 'all' ? undefined : type,
          metadata: (filters && readMetadataFilters(filters, database.metadata_schema)) ?? undefined,
        });
        respond({ chunks, graph, ...(warning === undefined ? {} : { warning }) });
      },
    ),
  );

  return router;
}

/**
 * The collections to search in, all when undefined, and their weights.
 * @throws ServiceError INVALID_PARAMETERS when a request has both fields
 */
function collectionsOf({ collection, collections }: z.output<typeof querySchema>) {
  if (collection !== undefined && collections !== undefined) {
    throw new ServiceError('INVALID_PARAMETERS', 'collection: must not be used together with collections');
  }
  if (collections === undefined) return { collections: collection === undefined ? undefined : [collection] };
  if (Array.isArray(collections)) return { collections };
  return { collections: Object.keys(collections), weights: new Map(Object.entries(collections)) };
}
