import type { ClientSession, MongoClient } from 'mongodb';
import { createSharedCalls } from '../domain/shared-calls.js';
import { inTransaction } from './transactions.js';

/** The transaction of a group was given up before its commit: each of its works gets its own. */
class GroupGivenUp extends Error {}

/**
 * Commits works of one key together that arrive while others are being committed: a commit costs more than what it commits. A work
 * that cannot be stored, or conflicts with another change, harms only itself.
 * @param write may run several times. @returns a result for each work, in the same order
 * @param atOnce transactions of one key at a time
 * @returns a function that resolves with the result of its work after the commit
 */
export function createSharedCommits<Work, Result>(
  mongoClient: MongoClient,
  keyOf: (work: Work) => string,
  write: (works: readonly Work[], tx: ClientSession) => Promise<Result[]>,
  atOnce = 1,
): (work: Work) => Promise<Result> {
  const commitAlone = async (work: Work): Promise<Result> => {
    const [result] = await inTransaction(mongoClient, (tx) => write([work], tx));
    return result!;
  };
  const commitTogether = (works: readonly Work[]): Promise<Result[]> =>
    inTransaction(mongoClient, (tx) =>
      write(works, tx).catch((error) => {
        // Without MongoDB's label, so that the driver does not repeat the whole group.
        throw new GroupGivenUp('one of the works could not be stored', { cause: error });
      }),
    );

  return createSharedCalls<Work, Result>({
    keyOf,
    atOnce,
    async call(works) {
      if (works.length === 1) return [await commitAlone(works[0]!)];
      try {
        return await commitTogether(works);
      } catch (error) {
        // After an error of the commit, the works may have been stored.
        if (!(error instanceof GroupGivenUp)) throw error;
        return works.map(commitAlone);
      }
    },
  });
}
