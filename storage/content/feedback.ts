import type { ClientSession, Collection, Filter, MongoClient } from 'mongodb';
import type { RatingTally } from '../../domain/content/ranking.js';
import { newFeedbackId, sha256Hex } from '../../domain/ids.js';
import { newestFirst, type PageQuery } from '../queries.js';
import { inTransaction } from '../transactions.js';
import type { DatabaseRecord } from './databases.js';

export interface FeedbackRecord {
  /** `fbk_…`. */
  _id: string;
  org: string;
  database_id: string;
  database: string;
  query: string | null;
  /** The client's id of the item; of a chunk's, when a chunk was rated. Null when the answer as a whole was. */
  source_id: string | null;
  chunk_id: string | null;
  /** -1 to 1. */
  rating: number;
  comment: string | null;
  /** Database, source, key and question: of the ratings that have these in common only the last counts. */
  vote: string;
  /** Whether it is that one. */
  counts: boolean;
  created_at: Date;
}

/** The ratings that count of one source, summed up. */
export interface FeedbackTallyRecord {
  /** Internal id of the database and the client's id of the item. */
  _id: string;
  database_id: string;
  sum: number;
  count: number;
}

export type Feedback = ReturnType<typeof createFeedback>;

/** What a client says of an answer, of a source in it, or of one chunk. */
export type FeedbackInput = Pick<FeedbackRecord, 'query' | 'source_id' | 'chunk_id' | 'rating' | 'comment'>;

export interface FeedbackFilter {
  source_id?: string;
  min_rating?: number;
  max_rating?: number;
}

/** Ratings of answers. Each is kept; those of a source are summed up as well, for the ranking of later questions. */
export function createFeedback({
  mongoClient,
  feedback,
  feedbackTallies,
}: {
  mongoClient: MongoClient;
  feedback: Collection<FeedbackRecord>;
  feedbackTallies: Collection<FeedbackTallyRecord>;
}) {
  return {
    /**
     * Makes a record; nothing is written yet, so that its id can stand in an answer that is kept with it.
     * @param keyId of the API key it came with
     */
    newFeedback(database: DatabaseRecord, keyId: string, opinion: FeedbackInput): FeedbackRecord {
      const { query, source_id } = opinion;
      return {
        _id: newFeedbackId(),
        org: database.org,
        database_id: database._id,
        database: database.name,
        ...opinion,
        vote: sha256Hex(JSON.stringify([database._id, source_id, keyId, query])),
        counts: true,
        created_at: new Date(),
      };
    },

    /** Keeps a rating; it counts in place of what the same key said of the same source and question before. */
    async add(record: FeedbackRecord, tx?: ClientSession): Promise<void> {
      await inTransaction(
        mongoClient,
        async (session) => {
          // The tally first: two ratings of one source at the same moment conflict there, and one is repeated.
          await count(record, session);
          await feedback.insertOne(record, { session });
        },
        tx,
      );
    },

    /** @returns one page, newest first, of the ratings that match; both rating bounds are inclusive */
    list(
      databaseId: string,
      { source_id, min_rating, max_rating, ...page }: PageQuery & FeedbackFilter,
    ): Promise<FeedbackRecord[]> {
      const filter: Filter<FeedbackRecord> = { database_id: databaseId };
      if (source_id !== undefined) filter.source_id = source_id;
      if (min_rating !== undefined || max_rating !== undefined) {
        filter.rating = {
          ...(min_rating === undefined ? {} : { $gte: min_rating }),
          ...(max_rating === undefined ? {} : { $lte: max_rating }),
        };
      }
      return newestFirst(feedback, filter, page).toArray();
    },

    /** @returns by the client's id, the tallies of those sources that have been rated */
    async getTallies(databaseId: string, sources: readonly string[]): Promise<Map<string, RatingTally>> {
      const byKey = new Map(sources.map((source) => [tallyKey(databaseId, source), source]));
      const found = await feedbackTallies.find({ _id: { $in: [...byKey.keys()] } }).toArray();
      return new Map(found.map((tally) => [byKey.get(tally._id)!, tally]));
    },
  };

  async function count(
    { database_id: databaseId, source_id, vote, rating }: FeedbackRecord,
    session: ClientSession,
  ): Promise<void> {
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
    const key = tallyKey(databaseId, source_id);
    await feedbackTallies.updateOne(
      { _id: key },
      { $inc: { sum: rating, count: 1 }, $setOnInsert: { database_id: databaseId } },
      { session, upsert: true },
    );
    const replaced = await former();
    if (replaced) {
      await feedbackTallies.updateOne({ _id: key }, { $inc: { sum: -replaced.rating, count: -1 } }, { session });
    }
  }
}

/** Ratings of these sources stay to be read, but count no more: an item that comes later under such an id is another. */
export async function discountRatings(
  {
    feedback,
    feedbackTallies,
  }: { feedback: Collection<FeedbackRecord>; feedbackTallies: Collection<FeedbackTallyRecord> },
  databaseId: string,
  sources: readonly string[],
  session: ClientSession,
): Promise<void> {
  const keys = sources.map((source) => tallyKey(databaseId, source));
  await feedbackTallies.deleteMany({ _id: { $in: keys } }, { session });
  await feedback.updateMany(
    { database_id: databaseId, source_id: { $in: [...sources] }, counts: true },
    { $set: { counts: false } },
    { session },
  );
}

function tallyKey(databaseId: string, source: string): string {
  return `${databaseId}/${source}`;
}
