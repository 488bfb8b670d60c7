/** Responses of the routes for feedback. */
import { z } from 'zod';
import type { FeedbackRecord } from '../../storage/content/feedback.js';
import { listSchema } from '../pagination.js';

const time = z.iso.datetime();

export const feedbackCreatedSchema = z.object({ id: z.string() });

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
    created_at: time,
  })
  .meta({ id: 'Feedback' });

export const feedbackListSchema = listSchema('feedback', feedbackSchema, 'Newest first.');

/** A rating in a list. */
export function describeFeedback(record: FeedbackRecord) {
  return {
    id: record._id,
    database: record.database,
    query: record.query,
    collection: record.collection,
    source_id: record.source_id,
    chunk_id: record.chunk_id,
    rating: record.rating,
    comment: record.comment,
    created_at: record.created_at.toISOString(),
  };
}
