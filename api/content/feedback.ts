import Router from '@koa/router';
import { z } from 'zod';
import { nameSchema, type OwnedDatabase } from '../../domain/content/databases.js';
import { itemIdSchema } from '../../domain/content/ingest.js';
import { ServiceError } from '../../domain/errors.js';
import { chunkOwner } from '../../domain/ids.js';
import type { FeedbackInput } from '../../storage/content/feedback.js';
import { contentOperations } from '../content-operations.js';
import type { Dependencies } from '../dependencies.js';
import { numberParameter } from '../number-parameter.js';
import { byId, listSchema, pageQuery, readPage } from '../pagination.js';
import { pickFields } from '../pick-fields.js';
import type { RequestState } from '../request-context.js';

const operation = contentOperations('Feedback');

const rating = z.number().min(-1).max(1);

const ratingSchema = z.object({
  database: nameSchema,
  collection: nameSchema.optional().meta({ description: 'The collection of `source_id`.' }),
  query: z
    .string()
    .regex(/\S/, 'must not be empty')
    .max(10_000)
    .trim()
    .optional()
    .meta({ description: 'The query whose results are rated.' }),
  source_id: itemIdSchema.optional().meta({ description: 'Only ratings of a source or a chunk move later results.' }),
  chunk_id: z.string().min(1).max(200).optional().meta({ description: 'Also rates the source of the chunk.' }),
  rating: rating.meta({ description: 'From -1 (useless) to 1 (exactly right).' }),
  comment: z.string().max(10_000).optional(),
});

const feedbackSchema = z
  .object({
    id: z.string(),
    database: z.string(),
    query: z.string().nullable(),
    collection: z.string().nullable(),
    source_id: z.string().nullable(),
    chunk_id: z.string().nullable(),
    rating: z.number(),
    comment: z.string().nullable(),
    created_at: z.iso.datetime(),
  })
  .meta({ id: 'Feedback' });

const feedbackListSchema = listSchema('feedback', feedbackSchema, 'Newest first.');

const ratingParameter = numberParameter(z.number().min(-1).max(1));

const NEWEST_FIRST = byId('fbk');

const listQuerySchema = pageQuery(NEWEST_FIRST).extend({
  database: nameSchema,
  collection: nameSchema.optional(),
  source_id: itemIdSchema.optional(),
  min_rating: ratingParameter.optional(),
  max_rating: ratingParameter.optional(),
});

/** Ratings of query results by clients. */
export function feedbackRoutes(deps: Dependencies): Router<RequestState> {
  const router = new Router<RequestState>({ prefix: '/feedback' });

  router.post(
    '/',
    operation(
      {
        summary: 'Rate query results',
        description:
          'Ratings of a source change its position in later results, by the mean of its ratings and five neutral ones, and ' +
          'by at most a tenth of its weight: a badly rated source in the first place falls behind at most six others. ' +
          'The latest of several ratings with the same key, source and query counts.',
        body: ratingSchema,
        example: { database: 'library', query: 'When does the library open?', source_id: 'handbook', rating: 1 },
        status: 201,
        response: z.object({ id: z.string() }),
        errors: ['DATABASE_NOT_FOUND', 'SOURCE_NOT_FOUND'],
        idempotencyKeys: deps.idempotencyKeys,
      },
      async (ctx, { body, respondWith }) => {
        const { org, key_id } = ctx.state.principal;
        const database = await deps.databases.requireForOrg(org, body.database);
        const record = deps.feedback.newFeedback(database, key_id, {
          query: body.query ?? null,
          ...(await ratedSource(deps, database, body)),
          chunk_id: body.chunk_id ?? null,
          rating: body.rating,
          comment: body.comment ?? null,
        });
        await respondWith({ id: record._id }, (tx) =>
          deps.quotas.admit(org, { stored_bytes: record.bytes }, (session) => deps.feedback.add(record, session), tx),
        );
      },
    ),
  );

  router.get(
    '/',
    operation(
      {
        summary: 'List feedback',
        query: listQuerySchema,
        response: feedbackListSchema,
        errors: ['DATABASE_NOT_FOUND'],
      },
      async (ctx, { query: { database: name, limit, cursor, ...filter }, respond }) => {
        const database = await deps.databases.requireForOrg(ctx.state.principal.org, name);
        const { records, next_cursor } = await readPage({ limit, cursor }, NEWEST_FIRST, (page) =>
          deps.feedback.list(database, { ...filter, ...page }),
        );
        const feedback = records.map((record) => pickFields(feedbackSchema, { ...record, id: record._id }));
        respond({ feedback, count: records.length, next_cursor });
      },
    ),
  );

  return router;
}

/**
 * @returns the rated item; nulls when the results as a whole are rated
 * @throws ServiceError SOURCE_NOT_FOUND, VALIDATION_ERROR for a chunk of another source, INVALID_PARAMETERS for an id in
 * several collections
 */
async function ratedSource(
  { items, chunks }: Dependencies,
  database: OwnedDatabase,
  { collection, source_id, chunk_id }: z.output<typeof ratingSchema>,
): Promise<Pick<FeedbackInput, 'collection' | 'source_id' | 'item'>> {
  if (chunk_id !== undefined) {
    const chunk = (await chunks.getByIds(database._id, [chunk_id])).get(chunk_id);
    if (!chunk) throw new ServiceError('SOURCE_NOT_FOUND', `There is no chunk "${chunk_id}".`);
    if ((collection ?? chunk.collection) !== chunk.collection || (source_id ?? chunk.source_id) !== chunk.source_id) {
      throw new ServiceError('VALIDATION_ERROR', 'chunk_id: must be a chunk of source_id, in its collection');
    }
    return { collection: chunk.collection, source_id: chunk.source_id, item: chunkOwner(chunk_id).item };
  }
  if (source_id === undefined) return { collection: null, source_id: null, item: null };
  const [item] = await items.listByIds(database, [source_id], collection);
  if (item) return { collection: item.collection, source_id, item: item._id };
  throw new ServiceError('SOURCE_NOT_FOUND', `There is no item "${source_id}".`);
}
