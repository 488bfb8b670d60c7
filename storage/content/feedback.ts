import type { ClientSession } from 'mongodb';
import type { OwnedDatabase } from '../../domain/content/databases.js';
import type { RatingTally } from '../../domain/content/ranking.js';
import { newFeedbackId, sha256Hex } from '../../domain/ids.js';
import { textBytes } from '../../domain/text-bytes.js';
import type { Access } from '../collections.js';
import type { OwnFilter } from '../organisation-records.js';
import { BY_ID, newestFirst, type PageQuery } from '../queries.js';
import { inTransaction } from '../transactions.js';
import type { DatabaseRecord } from './databases.js';

export interface FeedbackRecord {
  /** `fbk_…`. */
  _id: string;
  org: string;
  database_id: string;
  database: string;
  query: string | null;
  /** The collection of the source; null without a source. */
  collection: string | null;
  /** The client's id of the rated item, or of the rated chunk's item; null for a rating of the whole response. */
  source_id: string | null;
  /** The internal id of the same item. */
  item: string | null;
  chunk_id: string | null;
  /** -1 to 1. */
  rating: number;
  comment: string | null;
  /** Bytes of the query and the comment, for the use of an organisation. */
  bytes: number;
  /** Hash of database, collection, source, API key and query. Only the last rating with the same hash counts. */
  vote: string;
  /** Whether this is the last rating with its vote. */
  counts: boolean;
  created_at: Date;
}

/** Sum and number of the ratings of one source that count. */
export interface FeedbackTallyRecord {
  /** Internal id of the item. */
  _id: string;
  org: string;
  database_id: string;
  sum: number;
  count: number;
}

export type Feedback = ReturnType<typeof createFeedback>;

/** A client's rating of a query response, of one source in it, or of one chunk. */
export type FeedbackInput = Pick<
  FeedbackRecord,
  'query' | 'collection' | 'source_id' | 'item' | 'chunk_id' | 'rating' | 'comment'
>;

/** Filters of a list; an absent filter matches every rating. */
export interface FeedbackFilter {
  collection?: string;
  source_id?: string;
  min_rating?: number;
  max_rating?: number;
}

/** Ratings of query responses. All are kept; the ratings of a source are also summed up, to rank later hits. */
export function createFeedback({
  mongoClient,
  feedback,
  feedbackTallies,
  databases,
  now,
}: Access<'mongoClient' | 'feedback' | 'feedbackTallies' | 'databases' | 'now'>) {
  return {
    /**
     * @param keyId id of the client's API key
     * @returns a record that is not stored yet, so that a saved response can contain its id
     */
    newFeedback(database: DatabaseRecord, keyId: string, input: FeedbackInput): FeedbackRecord {
      const { query, collection, source_id, comment } = input;
      return {
        _id: newFeedbackId(),
        org: database.org,
        database_id: database._id,
        database: database.name,
        ...input,
        bytes: textBytes(query, comment),
        vote: sha256Hex(JSON.stringify([database._id, collection, source_id, keyId, query])),
        counts: true,
        created_at: now(),
      };
    },

    /** Stores a rating. It replaces an earlier rating with the same vote in the tally. */
    async add(record: FeedbackRecord, tx?: ClientSession): Promise<void> {
      const write = async (session: ClientSession) => {
        // The tally is written first: concurrent ratings of one source conflict there, and one transaction is repeated.
        await count(record, session);
        await feedback.forOrg(record.org).insertOne(record, { session });
      };
      await inTransaction(mongoClient, write, tx);
    },

    /** @returns one page, newest first, of the ratings that match; both rating bounds are inclusive */
    list(
      database: OwnedDatabase,
      { collection, source_id, min_rating = -1, max_rating = 1, ...page }: PageQuery & FeedbackFilter,
    ): Promise<FeedbackRecord[]> {
      const filter: OwnFilter<FeedbackRecord> = {
        database_id: database._id,
        ...(collection === undefined ? {} : { collection }),
        ...(source_id === undefined ? {} : { source_id }),
        rating: { $gte: min_rating, $lte: max_rating },
      };
      return newestFirst(feedback.forOrg(database.org), filter, page).toArray();
    },

    /** @param keys internal ids of items @returns the tallies of the rated items among these, by their ids */
    async getTallies(org: string, keys: readonly string[]): Promise<Map<string, RatingTally>> {
      const found = await feedbackTallies
        .forOrg(org)
        .find({ _id: { $in: [...keys] } }, BY_ID)
        .toArray();
      return new Map(found.map((tally) => [tally._id, tally]));
    },
  };

  async function count(
    { org, database_id: databaseId, item, vote, rating }: FeedbackRecord,
    tx: ClientSession,
  ): Promise<void> {
    const replaceEarlier = () =>
      feedback
        .forOrg(org)
        .findOneAndUpdate(
          { vote, counts: true },
          { $set: { counts: false } },
          { session: tx, projection: { rating: 1 } },
        );
    if (item === null) {
      await replaceEarlier();
      return;
    }
    await databases
      .forOrg(org)
      .updateOne({ _id: databaseId, rated: { $ne: true } }, { $set: { rated: true } }, { session: tx, ...BY_ID });
    const tallies = feedbackTallies.forOrg(org);
    const tally = { _id: item };
    await tallies.updateOne(
      tally,
      { $inc: { sum: rating, count: 1 }, $setOnInsert: { database_id: databaseId } },
      { session: tx, upsert: true, ...BY_ID },
    );
    const replaced = await replaceEarlier();
    if (replaced) {
      const taken = { $inc: { sum: -replaced.rating, count: -1 } };
      await tallies.updateOne(tally, taken, { session: tx, ...BY_ID });
    }
  }
}

/** Takes the ratings of deleted sources out of the ranking, because a later item with the same id is another item. */
export async function discountRatings(
  { feedback, feedbackTallies }: Access<'feedback' | 'feedbackTallies'>,
  database: OwnedDatabase,
  items: readonly { _id: string; collection: string; id: string }[],
  tx: ClientSession,
): Promise<void> {
  const keys = items.map(({ _id }) => _id);
  await feedbackTallies.forOrg(database.org).deleteMany({ _id: { $in: keys } }, { session: tx, ...BY_ID });
  for (const collection of new Set(items.map((item) => item.collection))) {
    const ids = items.flatMap((item) => (item.collection === collection ? [item.id] : []));
    await feedback
      .forOrg(database.org)
      .updateMany(
        { database_id: database._id, collection, source_id: { $in: ids }, counts: true },
        { $set: { counts: false } },
        { session: tx },
      );
  }
}
