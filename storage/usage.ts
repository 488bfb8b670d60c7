import type { AggregateOptions, ClientSession } from 'mongodb';
import { UNFINISHED_JOB_STATUSES } from '../domain/ai-jobs/states.js';
import { UNFINISHED_EXECUTION_STATUSES } from '../domain/crews/states.js';
import type { AddedUse } from '../domain/quotas.js';
import type { Access } from './collections.js';
import { BYTES_INDEX, COLLECTION_INDEX } from './indexes.js';
import type { OrganisationRecords } from './organisation-records.js';

/** Quotas that are measured and guarded together. */
export const MEASURES = ['storage', 'databases', 'connectors', 'jobs', 'crews'] as const;
export type Measure = (typeof MEASURES)[number];

type UsageCollections = Access<
  'aiJobs' | 'aiJobResults' | 'connectors' | 'crewExecutions' | 'databases' | 'feedback' | 'items' | 'uploads'
>;

/** What all of them have in common. */
type Measured = { _id: string; org: string };

export type Usage = ReturnType<typeof createUsage>;

/**
 * Measures what an organisation uses. The records themselves are counted, by indexes alone, so the use never differs
 * from them, whichever code removes a record.
 * @param staleReads for measurements that only inform; those in a transaction decide, and need the primary
 */
export function createUsage(collections: UsageCollections, staleReads: UsageCollections = collections) {
  const inform = measuresOf(staleReads);
  const decide = measuresOf(collections);
  return {
    /** @param tx a transaction whose snapshot is measured */
    measure: (name: Measure, org: string, tx?: ClientSession): Promise<AddedUse> =>
      tx ? decide[name](org, tx) : inform[name](org),
  };
}

function measuresOf(collections: UsageCollections) {
  const { aiJobs, aiJobResults, connectors, crewExecutions, databases, feedback, items, uploads } = collections;
  const withTexts = [aiJobs, aiJobResults, crewExecutions, feedback] as unknown as OrganisationRecords<Measured>[];

  /** Counts and adds up the records of one collection. @param bytes the field with their sizes */
  async function sum<Entry extends Measured>(
    collection: OrganisationRecords<Entry>,
    org: string,
    options: AggregateOptions,
    bytes: 'bytes' | 'size' = 'bytes',
  ): Promise<{ count: number; bytes: number }> {
    const [found] = await collection
      .forOrg(org)
      .aggregate<{ count: number; bytes: number }>(
        [
          { $project: { _id: 0, [bytes]: 1 } },
          { $group: { _id: null, count: { $sum: 1 }, bytes: { $sum: `$${bytes}` } } },
        ],
        options,
      )
      .toArray();
    return found ?? { count: 0, bytes: 0 };
  }

  const measures: Record<Measure, (org: string, session?: ClientSession) => Promise<AddedUse>> = {
    async storage(org, session) {
      // One after the other: a transaction runs one command at a time.
      const stored = await sum(items, org, { hint: COLLECTION_INDEX, session });
      const uploaded = await sum(uploads, org, { session }, 'size');
      let stored_bytes = stored.bytes + uploaded.bytes;
      for (const collection of withTexts)
        stored_bytes += (await sum(collection, org, { hint: BYTES_INDEX, session })).bytes;
      return { items: stored.count, uploads: uploaded.count, stored_bytes };
    },
    databases: async (org, session) => ({ databases: await databases.forOrg(org).countDocuments({}, { session }) }),
    connectors: async (org, session) => ({
      connectors: await connectors.forOrg(org).countDocuments({ deleted_at: null }, { session }),
    }),
    jobs: async (org, session) => ({
      queued_jobs: await aiJobs.forOrg(org).countDocuments({ status: { $in: UNFINISHED_JOB_STATUSES } }, { session }),
    }),
    crews: async (org, session) => ({
      running_crews: await crewExecutions
        .forOrg(org)
        .countDocuments({ status: { $in: UNFINISHED_EXECUTION_STATUSES } }, { session }),
    }),
  };

  return measures;
}
