import type { ClientSession, Filter } from 'mongodb';
import { newFeedbackId, sha256Hex } from '../domain/ids.js';
import type { RatingTally } from '../domain/ranking.js';
import type { Alongside, Mongo } from './mongo.js';
import type { DatabaseRecord } from './records/databases.js';
import type { FeedbackRecord } from './records/feedback.js';

export type Feedback = ReturnType<typeof createFeedback>;

/** What a client says of an answer, of a source in it, or of one chunk. */
export type Opinion = Pick<FeedbackRecord, 'query' | 'source_id' | 'chunk_id' | 'rating' | 'comment'>;

/** Ratings of answers. Each is kept; those of a source are summed up as well, for the ranking of later questions. */
export function createFeedback({ client, feedback, feedbackTallies }: Mongo) {
  return {
    /**
     * Makes a record; nothing is written yet, so that its id can stand in an answer that is kept with it.
     * @param keyId of the API key it came with
     */
    draft(database: DatabaseRecord, keyId: string, opinion: Opinion): FeedbackRecord {
      const { query, source_id } = opinion;
      return {
        _id: newFeedbackId(),
        org: database.org,
        tenant: database._id,
        database: database.name,
        ...opinion,
        vote: sha256Hex(JSON.stringify([database._id, source_id, keyId, query])),
        counts: true,
        created_at: new Date(),
      };
    },

    /** Keeps a rating; it counts in place of what the same key said of the same source and question before. */
    async add(record: FeedbackRecord, alongside?: Alongside): Promise<void> {
      await client.withSession((session) =>
        session.withTransaction(async () => {
          // The tally comes first: two ratings of one source at the same moment meet there, and one is tried again.
          await count(record, session);
          await feedback.insertOne(record, { session });
          await alongside?.(session);
        }),
      );
    },

    /** Newest first, keyset paging: ids sort by time. @param before the last id of the page before */
    list(
      tenant: string,
      query: { source_id?: string; min_rating?: number; max_rating?: number; before?: string; limit: number },
    ): Promise<FeedbackRecord[]> {
      const filter: Filter<FeedbackRecord> = { tenant };
      if (query.source_id !== undefined) filter.source_id = query.source_id;
      if (query.before !== undefined) filter._id = { $lt: query.before };
      if (query.min_rating !== undefined || query.max_rating !== undefined) {
        filter.rating = {
          ...(query.min_rating === undefined ? {} : { $gte: query.min_rating }),
          ...(query.max_rating === undefined ? {} : { $lte: query.max_rating }),
        };
      }
      return feedback.find(filter).sort({ _id: -1 }).limit(query.limit).toArray();
    },

    /** @returns by the client's id, the tallies of those sources that have been rated */
    async tallies(tenant: string, sources: readonly string[]): Promise<Map<string, RatingTally>> {
      const byKey = new Map(sources.map((source) => [tallyKey(tenant, source), source]));
      const found = await feedbackTallies.find({ _id: { $in: [...byKey.keys()] } }).toArray();
      return new Map(found.map((tally) => [byKey.get(tally._id)!, tally]));
    },
  };

  async function count({ tenant, source_id, vote, rating }: FeedbackRecord, session: ClientSession): Promise<void> {
    const former = () =>
      feedback.findOneAndUpdate(
        { vote, counts: true },
        { $set: { counts: false } },
        { session, projection: { rating: 1 } },
      );
    if (source_id === null) {
      await former();
      return;
    }
    const key = tallyKey(tenant, source_id);
    await feedbackTallies.updateOne(
      { _id: key },
      { $inc: { sum: rating, count: 1 }, $setOnInsert: { tenant } },
      { session, upsert: true },
    );
    const replaced = await former();
    if (replaced) {
      await feedbackTallies.updateOne({ _id: key }, { $inc: { sum: -replaced.rating, count: -1 } }, { session });
    }
  }
}

/** Ratings of these sources stay to be read, but count no more: an item that comes later under such an id is another. */
export async function forgetRatings(
  { feedback, feedbackTallies }: Pick<Mongo, 'feedback' | 'feedbackTallies'>,
  tenant: string,
  sources: readonly string[],
  session: ClientSession,
): Promise<void> {
  const keys = sources.map((source) => tallyKey(tenant, source));
  await feedbackTallies.deleteMany({ _id: { $in: keys } }, { session });
  await feedback.updateMany(
    { tenant, source_id: { $in: [...sources] }, counts: true },
    { $set: { counts: false } },
    { session },
  );
}

function tallyKey(tenant: string, source: string): string {
  return `${tenant}/${source}`;
}
