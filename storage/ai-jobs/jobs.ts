import type { ClientSession } from 'mongodb';
import { AI_FEATURE_NAMES } from '../../domain/ai-jobs/features.js';
import type { AiJobResult } from '../../domain/ai-jobs/job-payload.js';
import { JOB_STATUSES, type JobStatus, UNFINISHED_JOB_STATUSES } from '../../domain/ai-jobs/states.js';
import { CANCELLED, JOB_CANCELLED, type JobOutcome } from '../../domain/ai-jobs/workflow-contract.js';
import { ServiceError } from '../../domain/errors.js';
import { DAY_MS } from '../../domain/webhooks/delivery-policy.js';
import type { Access } from '../collections.js';
import { JOB_LIST_INDEX } from '../indexes.js';
import type { RecordUpdate } from '../organisation-records.js';
import { BY_ID, type PageQuery, pageByTime, type TimePosition } from '../queries.js';
import { inTransaction } from '../transactions.js';
import { type AiJobRecord, type AiJobResultRecord, type PackedResult, packResult, unpackResult } from './job-record.js';

/** How a job ends. */
export interface JobEnd {
  job: string;
  outcome: JobOutcome;
  /** Of a job without a saved result; a saved result stays. */
  result: PackedResult | null;
}

export type AiJobs = ReturnType<typeof createAiJobs>;

type End = Pick<AiJobRecord, 'status' | 'error_code' | 'error_message'>;
const CANCELLED_END: End = { status: 'fail', error_code: CANCELLED, error_message: JOB_CANCELLED };
const endOf = ({ status, error_code, error_message }: JobOutcome): End => ({
  status,
  error_code: error_code ?? null,
  error_message: error_message ?? null,
});

/** How long a job may wait for its end after its result was saved. */
const LONGEST_WAIT_MS = 30 * DAY_MS;

const WITHOUT_INPUT = { projection: { input: 0, user_parameters: 0 } } as const;

const byId = (jobs: readonly AiJobRecord[]) => new Map(jobs.map((job) => [job._id, job]));

/** The error for an input whose upload is unknown, was deleted, or has expired. */
export function fileNotFound(fileId: string): ServiceError {
  return new ServiceError('FILE_NOT_FOUND', `input.file: there is no file "${fileId}", or it has expired`);
}

/**
 * AI jobs and their results. Every change of status is one conditional update.
 * @param retentionMs how long a finished job and its result are kept
 */
export function createAiJobs(
  {
    aiJobs,
    aiJobResults,
    uploads,
    mongoClient,
    now: clock,
  }: Access<'aiJobs' | 'aiJobResults' | 'uploads' | 'mongoClient' | 'now'>,
  retentionMs: number,
) {
  return {
    /** @throws ServiceError FILE_NOT_FOUND when the upload has been deleted or has expired since it was checked */
    async add(job: AiJobRecord, tx?: ClientSession): Promise<void> {
      const insert = (session?: ClientSession) => aiJobs.forOrg(job.org).insertOne(job, { session });
      const { file_id } = job;
      if (file_id === null) return void (await insert(tx));
      const insertWithFile = async (session: ClientSession) => {
        const now = clock();
        const current = { _id: file_id, expires_at: { $gt: now } };
        const { matchedCount } = await uploads
          .forOrg(job.org)
          .updateOne(current, { $set: { used_at: now } }, { session });
        if (matchedCount === 0) throw fileNotFound(file_id);
        await insert(session);
      };
      await (tx ? insertWithFile(tx) : inTransaction(mongoClient, insertWithFile));
    },

    getById(org: string, jobId: string): Promise<AiJobRecord | null> {
      return aiJobs.forOrg(org).findOne({ _id: jobId }, BY_ID);
    },

    /**
     * @param jobId in upper or lower case (RFC 9562)
     * @returns null when the job is unknown or another organisation's
     */
    findForOrg(org: string, jobId: string): Promise<AiJobRecord | null> {
      return aiJobs.forOrg(org).findOne({ _id: jobId.toLowerCase() });
    },

    /** One page of an organisation's jobs without their inputs, newest first. */
    listForOrg(
      org: string,
      { status, feature, ...page }: PageQuery<TimePosition> & { status?: JobStatus; feature?: string },
    ): Promise<AiJobRecord[]> {
      // An absent filter is the list of all values, so that one index serves every combination.
      const filter = {
        status: { $in: status === undefined ? [...JOB_STATUSES] : [status] },
        feature: { $in: feature === undefined ? [...AI_FEATURE_NAMES] : [feature] },
      };
      return pageByTime(aiJobs.forOrg(org), filter, page, 'created_at', -1)
        .project<AiJobRecord>(WITHOUT_INPUT.projection)
        .hint(JOB_LIST_INDEX)
        .toArray();
    },

    /**
     * queued | processing -> processing, and counts a run. The time limit counts from the first run.
     * @returns the jobs by their ids, without those that have finished
     */
    async start(org: string, jobIds: readonly string[]): Promise<Map<string, AiJobRecord>> {
      const own = aiJobs.forOrg(org);
      const status = { $in: UNFINISHED_JOB_STATUSES };
      const run = {
        status: 'processing',
        started_at: { $ifNull: ['$started_at', '$$NOW'] },
        runs: { $add: ['$runs', 1] },
      };
      // Not updateMany, which the driver does not repeat after an error of the network: a run would be counted for nothing.
      const starts = jobIds.map((_id) => ({ filter: { _id, status }, update: [{ $set: run }], ...BY_ID }));
      await own.updateEach(starts, { ordered: false });
      return byId(await own.find({ _id: { $in: [...jobIds] }, status }, BY_ID).toArray());
    },

    /**
     * @param jobId in upper or lower case
     * @returns the job, or null when it is unknown or has finished
     */
    requestCancel(org: string, jobId: string): Promise<AiJobRecord | null> {
      return aiJobs
        .forOrg(org)
        .findOneAndUpdate(
          { _id: jobId.toLowerCase(), status: { $in: UNFINISHED_JOB_STATUSES } },
          { $set: { cancel_requested: true } },
        );
    },

    /**
     * Sets the final statuses, in the transaction that stores the deliveries. A job whose cancellation was requested ends as
     * cancelled, whatever its outcome: the response to its client said so.
     * @returns the finished job of each end, without its input; null for one that had finished before
     */
    async finish(org: string, ends: readonly JobEnd[], now: Date, tx: ClientSession): Promise<(AiJobRecord | null)[]> {
      const own = aiJobs.forOrg(org);
      const filter = { _id: { $in: ends.map(({ job }) => job) }, status: { $in: UNFINISHED_JOB_STATUSES } };
      // The transaction fails when one of them changes before its commit.
      const unfinished = byId(await own.find(filter, { session: tx, ...WITHOUT_INPUT, ...BY_ID }).toArray());
      if (unfinished.size === 0) return ends.map(() => null);
      const expires_at = new Date(now.getTime() + retentionMs);
      const updates: RecordUpdate<AiJobRecord>[] = [];
      const results: RecordUpdate<AiJobResultRecord>[] = [];
      const finished = ends.map(({ job, outcome, result }) => {
        const before = unfinished.get(job);
        if (!before || !unfinished.delete(job)) return null;
        const end = { ...(before.cancel_requested ? CANCELLED_END : endOf(outcome)), finished_at: now, expires_at };
        updates.push({ filter: { _id: job }, update: { $set: end }, ...BY_ID });
        const saved = { ...(result ? { $setOnInsert: result } : {}), $set: { expires_at } };
        results.push({ filter: { _id: job }, update: saved, upsert: result !== null, ...BY_ID });
        return { ...before, ...end };
      });
      await own.updateEach(updates, { session: tx });
      await aiJobResults.forOrg(org).updateEach(results, { session: tx });
      return finished;
    },

    /**
     * Saves the result unless the job has one: an attempt that continues after its timeout must not change a result that
     * clients have received.
     * @throws RangeError when the result is too large, even compressed
     */
    async saveResult(org: string, jobId: string, result: AiJobResult): Promise<void> {
      const packed = await packResult(result);
      // The end of the job replaces it. A job that has ended without this result does not.
      const expires_at = new Date(clock().getTime() + retentionMs + LONGEST_WAIT_MS);
      const saved = { $setOnInsert: { ...packed, expires_at } };
      await aiJobResults.forOrg(org).updateOne({ _id: jobId }, saved, { upsert: true, ...BY_ID });
    },

    /** @returns the result as canonical JSON, or null when the job has none yet */
    async getResult(org: string, jobId: string): Promise<AiJobResult | null> {
      const found = await aiJobResults.forOrg(org).findOne({ _id: jobId }, BY_ID);
      if (!found) return null;
      return unpackResult(found);
    },

    /** @returns the characters of the result, 0 without one */
    async getResultLength(org: string, jobId: string): Promise<number> {
      const found = await aiJobResults.forOrg(org).findOne({ _id: jobId }, { projection: { characters: 1 }, ...BY_ID });
      return found?.characters ?? 0;
    },

    async hasResult(org: string, jobId: string): Promise<boolean> {
      return (await aiJobResults.forOrg(org).findOne({ _id: jobId }, { projection: { _id: 1 }, ...BY_ID })) !== null;
    },

    /** Counts a transient error of the provider. @returns their number */
    async countProviderFailure(org: string, jobId: string): Promise<number> {
      const counted = await aiJobs
        .forOrg(org)
        .findOneAndUpdate({ _id: jobId }, { $inc: { provider_failures: 1 } }, { projection: { provider_failures: 1 } });
      return counted?.provider_failures ?? 0;
    },

    /** Takes back the run that `start` counted, because it returned, with a result or an error. */
    async uncountRun(org: string, jobId: string): Promise<void> {
      await aiJobs.forOrg(org).updateOne({ _id: jobId }, { $inc: { runs: -1 } }, BY_ID);
    },

    /** The jobs of a group that are in progress, without their inputs, in the order of their ids. */
    listGroup(org: string, group: string): Promise<AiJobRecord[]> {
      return aiJobs
        .forOrg(org)
        .find({ group, status: { $in: UNFINISHED_JOB_STATUSES } }, WITHOUT_INPUT)
        .sort({ _id: 1 })
        .toArray();
    },

    /** Jobs in progress, without their inputs. */
    stale: aiJobs.stale(() => ({ status: { $in: UNFINISHED_JOB_STATUSES } }), WITHOUT_INPUT),
  };
}
