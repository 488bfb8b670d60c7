import type { ClientSession } from 'mongodb';
import type { JobOutcome } from '../domain/work.js';
import { type Alongside, isDuplicateKey, type Mongo, writeAlongside } from './mongo.js';
import type { AiJobRecord, AiJobResultRecord } from './records.js';

export type AiJobs = ReturnType<typeof createAiJobs>;

const UNDER_WAY: AiJobRecord['status'][] = ['queued', 'processing'];

/**
 * AI jobs, their results and the finished parts of those under way. Every move is one conditional update.
 * @param retentionMs how long a job and its result outlive its end
 */
export function createAiJobs({ client, aiJobs, aiJobResults, aiJobParts }: Mongo, retentionMs: number) {
  const expiry = () => new Date(Date.now() + retentionMs);
  return {
    async add(job: AiJobRecord, alongside?: Alongside): Promise<void> {
      await writeAlongside(client, (session) => aiJobs.insertOne(job, { session }), alongside);
    },

    get(jobId: string): Promise<AiJobRecord | null> {
      return aiJobs.findOne({ _id: jobId });
    },

    find(org: string, jobId: string): Promise<AiJobRecord | null> {
      return aiJobs.findOne({ _id: jobId, org });
    },

    /** queued -> processing; a repeated start keeps its first time. @returns null once it has ended */
    start(jobId: string): Promise<AiJobRecord | null> {
      return aiJobs.findOneAndUpdate(
        { _id: jobId, status: { $in: UNDER_WAY } },
        [{ $set: { status: 'processing', started_at: { $ifNull: ['$started_at', '$$NOW'] } } }],
        { returnDocument: 'after' },
      );
    },

    /** @returns the job as it is, when it has not ended yet; else null */
    requestCancel(org: string, jobId: string): Promise<AiJobRecord | null> {
      return aiJobs.findOneAndUpdate(
        { _id: jobId, org, status: { $in: UNDER_WAY } },
        { $set: { cancel_requested: true } },
        { returnDocument: 'after' },
      );
    },

    /** Part of the transaction that also writes the delivery. @returns the job as it ended; null when it had before */
    finish(jobId: string, outcome: JobOutcome, now: Date, session: ClientSession): Promise<AiJobRecord | null> {
      return aiJobs.findOneAndUpdate(
        { _id: jobId, status: { $in: UNDER_WAY } },
        {
          $set: {
            status: outcome.status,
            error_message: outcome.error_message ?? null,
            finished_at: now,
            expires_at: new Date(now.getTime() + retentionMs),
          },
        },
        { session, returnDocument: 'after' },
      );
    },

    /** @param output and `original` as JSON */
    async saveResult(jobId: string, output: string, original: string | null): Promise<void> {
      await aiJobResults.replaceOne({ _id: jobId }, { output, original, expires_at: expiry() }, { upsert: true });
    },

    result(jobId: string): Promise<AiJobResultRecord | null> {
      return aiJobResults.findOne({ _id: jobId });
    },

    /** What providers keep of finished parts, for the run after a worker's death. */
    partsOf(jobId: string) {
      const id = (part: string) => `${jobId}/${part}`;
      return {
        async load(part: string): Promise<unknown | undefined> {
          const found = await aiJobParts.findOne({ _id: id(part) });
          return found ? JSON.parse(found.value) : undefined;
        },
        async save(part: string, value: unknown): Promise<void> {
          const record = { _id: id(part), job: jobId, value: JSON.stringify(value), expires_at: expiry() };
          await aiJobParts.insertOne(record).catch((error) => {
            if (!isDuplicateKey(error)) throw error;
          });
        },
      };
    },

    async dropParts(jobId: string): Promise<void> {
      await aiJobParts.deleteMany({ job: jobId });
    },

    /** Jobs under way that are due for a look, oldest first; they are not due again before `next`. */
    async takeUnchecked(before: Date, next: Date, limit: number): Promise<AiJobRecord[]> {
      const found = await aiJobs
        .find({ status: { $in: UNDER_WAY }, check_at: { $lt: before } })
        .sort({ check_at: 1 })
        .limit(limit)
        .project<AiJobRecord>({ input: 0, user_parameters: 0 })
        .toArray();
      await aiJobs.updateMany({ _id: { $in: found.map((job) => job._id) } }, { $set: { check_at: next } });
      return found;
    },
  };
}
