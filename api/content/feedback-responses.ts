/** What the routes about feedback answer. */
import { z } from 'zod';
import type { FeedbackRecord } from '../../storage/content/feedback.js';
import { nextCursorSchema } from '../pagination.js';

const time = z.iso.datetime();

export const feedbackCreatedSchema = z.object({ id: z.string() });

export const feedbackListSchema = z.object({
  feedback: z
    .array(
      z.object({
        id: z.string(),
        database: z.string(),
        query: z.string().nullable(),
        source_id: z.string().nullable(),
        chunk_id: z.string().nullable(),
        rating: z.number(),
        comment: z.string().nullable(),
        created_at: time,
      }),
    )
    .meta({ description: 'Newest first.' }),
  count: z.int(),
  next_cursor: nextCursorSchema,
});

/** A rating as lists show it. */
export function describeFeedback(record: FeedbackRecord) {
  return {
    id: record._id,
    database: record.database,
    query: record.query,
    source_id: record.source_id,
    chunk_id: record.chunk_id,
    rating: record.rating,
    comment: record.comment,
    created_at: record.created_at.toISOString(),
  };
}
