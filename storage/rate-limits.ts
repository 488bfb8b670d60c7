import type { Db, MongoClient } from 'mongodb';
import { RateLimiterMongo, RateLimiterRes } from 'rate-limiter-flexible';

export type RateLimit = ReturnType<typeof createRateLimit>;

/**
 * Limits the requests of each key in a period. The count is in MongoDB, so that all API processes share it.
 * @param collection name of the collection; its indexes are in `indexes.ts`
 */
export function createRateLimit(
  { mongoClient, db }: { mongoClient: MongoClient; db: Db },
  collection: string,
  limit: { requests: number; seconds: number },
) {
  const limiter = new RateLimiterMongo({
    storeClient: mongoClient,
    dbName: db.databaseName,
    tableName: collection,
    keyPrefix: '',
    disableIndexesCreation: true,
    points: limit.requests,
    duration: limit.seconds,
  });
  return {
    /** Counts one request. @returns null, or the seconds to wait when the limit is exceeded */
    async take(key: string): Promise<number | null> {
      try {
        await limiter.consume(key);
        return null;
      } catch (error) {
        if (error instanceof RateLimiterRes) return Math.max(1, Math.ceil(error.msBeforeNext / 1000));
        throw error;
      }
    },
  };
}
