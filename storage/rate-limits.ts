import type { Db, MongoClient } from 'mongodb';
import { RateLimiterMongo, RateLimiterRes } from 'rate-limiter-flexible';

export type RateLimit = ReturnType<typeof createRateLimit>;

/**
 * So many requests in so many seconds for each key, counted in MongoDB: any number of API processes share the count.
 * @param collection has its indexes in `indexes.ts`
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
    /** Counts one request. @returns seconds to wait when it is one too many, else null */
    async take(key: string): Promise<number | null> {
      try {
        await limiter.consume(key);
        return null;
      } catch (refusal) {
        if (refusal instanceof RateLimiterRes) return Math.max(1, Math.ceil(refusal.msBeforeNext / 1000));
        throw refusal;
      }
    },
  };
}
