import Router from '@koa/router';
import { z } from 'zod';
import { nameSchema } from '../../domain/content/databases.js';
import { itemIdSchema } from '../../domain/content/ingest.js';
import { ServiceError } from '../../domain/errors.js';
import type { Chunks } from '../../storage/content/chunks.js';
import type { Databases } from '../../storage/content/databases.js';
import type { Feedback } from '../../storage/content/feedback.js';
import type { Items } from '../../storage/content/items.js';
import type { IdempotencyKeys } from '../../storage/idempotency-keys.js';
import { contentOperations } from '../content-operations.js';
import { openCursor, pageOf, pageQuerySchema } from '../pagination.js';
import type { RequestState } from '../request-context.js';
import { describeFeedback, feedbackCreatedSchema, feedbackListSchema } from './feedback-responses.js';

const operation = contentOperations('Feedback');

const rating = z.number().min(-1).max(1);

const feedbackSchema = z
  .object({
    database: nameSchema,
    query: z.string().trim().min(1).max(10_000).optional().meta({ description: 'The question that was asked.' }),
    source_id: itemIdSchema.optional(),
    chunk_id: z.string().min(1).max(200).optional().meta({ description: 'Says which source is meant, too.' }),
    rating: rating.meta({ description: '-1 is useless, 1 just right.' }),
    comment: z.string().max(10_000).optional(),
  })
  .refine(({ query, source_id, chunk_id }) => [query, source_id, chunk_id].some((part) => part !== undefined), {
    message: 'needs a query, a source_id or a chunk_id',
  });

const numberText = z.coerce.number('must be a number').pipe(rating);

const CURSOR = /^fbk_[0-9a-z]{26}$/;

const listQuerySchema = pageQuerySchema.extend({
  database: nameSchema,
  source_id: itemIdSchema.optional(),
  min_rating: numberText.optional(),
  max_rating: numberText.optional(),
});

export interface FeedbackDependencies {
  databases: Databases;
  items: Items;
  chunks: Chunks;
  feedback: Feedback;
  idempotencyKeys: IdempotencyKeys;
}

/** What clients think of the answers they got. */
export function feedbackRoutes(deps: FeedbackDependencies): Router<RequestState> {
  const router = new Router<RequestState>({ prefix: '/feedback' });

  router.post(
    '/',
    operation(
      {
        summary: 'Rate an answer',
        description:
          'Ratings of a source move it in later response: by the mean of its ratings, five neutral ones added, and by a tenth ' +
          'of its weight at the most, so a badly rated source in the first place lets no more than six others pass. ' +
          'Of ratings with the same key, source and query the last one counts.',
        body: feedbackSchema,
        example: { database: 'library', query: 'When does the library open?', source_id: 'handbook', rating: 1 },
        status: 201,
        response: feedbackCreatedSchema,
        errors: ['DATABASE_NOT_FOUND', 'SOURCE_NOT_FOUND'],
        idempotencyKeys: deps.idempotencyKeys,
      },
      async (ctx, { body, respondWith }) => {
        const { org, key_id } = ctx.state.principal;
        const database = await deps.databases.requireForOrg(org, body.database);
        const record = deps.feedback.newFeedback(database, key_id, {
          query: body.query ?? null,
          source_id: await ratedSource(database._id, body),
          chunk_id: body.chunk_id ?? null,
          rating: body.rating,
          comment: body.comment ?? null,
        });
        await respondWith({ id: record._id }, (tx) => deps.feedback.add(record, tx));
      },
    ),
  );

  router.get(
    '/',
    operation(
      {
        summary: 'List feedback',
        query: listQuerySchema,
        status: 200,
        response: feedbackListSchema,
        errors: ['DATABASE_NOT_FOUND'],
      },
      async (ctx, { query: { database: name, cursor, limit, ...filters }, respond }) => {
        const database = await deps.databases.requireForOrg(ctx.state.principal.org, name);
        const before = cursor === undefined ? undefined : openCursor(cursor, CURSOR);
        const found = await deps.feedback.list(database._id, { ...filters, before, limit: limit + 1 });
        const { shown, next_cursor } = pageOf(found, limit, ({ _id }) => _id);
        respond({ feedback: shown.map(describeFeedback), count: shown.length, next_cursor });
      },
    ),
  );

  return router;

  /** @returns the id of the item that is meant, null when it is the answer as a whole */
  async function ratedSource(databaseId: string, { source_id, chunk_id }: z.output<typeof feedbackSchema>) {
    if (chunk_id !== undefined) {
      const chunk = (await deps.chunks.getByIds([chunk_id])).get(chunk_id);
      if (chunk?.database_id !== databaseId)
        throw new ServiceError('SOURCE_NOT_FOUND', `There is no chunk "${chunk_id}".`);
      if (source_id !== undefined && source_id !== chunk.source_id) {
        throw new ServiceError('VALIDATION_ERROR', 'chunk_id: is of another source');
      }
      return chunk.source_id;
    }
    if (source_id !== undefined && (await deps.items.listByIds(databaseId, [source_id])).length === 0) {
      throw new ServiceError('SOURCE_NOT_FOUND', `There is no item "${source_id}".`);
    }
    return source_id ?? null;
  }
}
