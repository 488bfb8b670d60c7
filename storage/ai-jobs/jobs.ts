import { promisify } from 'node:util';
import { gunzip, gzip } from 'node:zlib';
import { Binary, type ClientSession, type Collection } from 'mongodb';
import type { AiJobResult } from '../../domain/ai-jobs/job-payload.js';
import type { JobStatus } from '../../domain/ai-jobs/jobs.js';
import type { JobOutcome } from '../../domain/ai-jobs/workflow-contract.js';
import { newJobId } from '../../domain/ids.js';
import { takeStale } from '../queries.js';

export interface AiJobRecord {
  /** UUID. */
  _id: string;
  org: string;
  feature: string;
  subfeature: string;
  provider: string;
  model: string | null;
  status: JobStatus;
  /** The input as JSON, because its names may be any. */
  input: string;
  /** The upload that the input names. */
  file_id: string | null;
  webhook_receiver: string | null;
  /** As JSON, exactly as they were sent. */
  user_parameters: string | null;
  show_original_response: boolean;
  /** Milliseconds from its start until it is given up. */
  time_limit_ms: number;
  /** The key that signs its callback, the current one when the job was made. */
  signing_key: string | null;
  error_message: string | null;
  cancel_requested: boolean;
  /** Runs that were begun and have not ended in an orderly way: more than a few, and it is what ends its workers. */
  runs: number;
  provider_failures: number;
  /** From when on the sweep may wonder whether its workflow exists. */
  check_at: Date;
  created_at: Date;
  started_at: Date | null;
  finished_at: Date | null;
  /** When MongoDB removes the record; null as long as it is under way. */
  expires_at: Date | null;
}

/** What a provider has made of a job: canonical JSON, because its names may be any, in gzip. */
export interface AiJobResultRecord {
  /** The job. */
  _id: string;
  output: Binary;
  original: Binary | null;
  /** Set with the job's, when it ends. */
  expires_at: Date | null;
}

/** Below the 16 MiB of a document. */
const MAX_PACKED_BYTES = 15 * 1024 * 1024;

// Indented JSON is mostly spaces and repeated names.
const pack = async (text: string) => new Binary(await promisify(gzip)(text));
const unpack = async (packed: Binary) => (await promisify(gunzip)(packed.value())).toString();

/** What a client asks for. */
export type JobRequest = Pick<
  AiJobRecord,
  | 'org'
  | 'feature'
  | 'subfeature'
  | 'provider'
  | 'model'
  | 'input'
  | 'file_id'
  | 'webhook_receiver'
  | 'user_parameters'
  | 'show_original_response'
  | 'time_limit_ms'
  | 'signing_key'
>;

/** A job as it begins. */
export function queuedJob(request: JobRequest, now: Date): AiJobRecord {
  return {
    ...request,
    _id: newJobId(),
    status: 'queued',
    error_message: null,
    cancel_requested: false,
    runs: 0,
    provider_failures: 0,
    check_at: now,
    created_at: now,
    started_at: null,
    finished_at: null,
    expires_at: null,
  };
}

export type AiJobs = ReturnType<typeof createAiJobs>;

const IN_PROGRESS: AiJobRecord['status'][] = ['queued', 'processing'];

/**
 * AI jobs, their results and the finished parts of those under way. Every move is one conditional update.
 * @param retentionMs how long a job and its result outlive its end
 */
export function createAiJobs(
  { aiJobs, aiJobResults }: { aiJobs: Collection<AiJobRecord>; aiJobResults: Collection<AiJobResultRecord> },
  retentionMs: number,
) {
  return {
    async add(job: AiJobRecord, tx?: ClientSession): Promise<void> {
      await aiJobs.insertOne(job, { session: tx });
    },

    getById(jobId: string): Promise<AiJobRecord | null> {
      return aiJobs.findOne({ _id: jobId });
    },

    /** @param jobId as its client wrote it: a UUID is the same in capitals (RFC 9562) */
    findForOrg(org: string, jobId: string): Promise<AiJobRecord | null> {
      return aiJobs.findOne({ _id: jobId.toLowerCase(), org });
    },

    /** queued -> processing, one run more; its first start counts for the time limit. @returns null once it has ended */
    start(jobId: string): Promise<AiJobRecord | null> {
      return aiJobs.findOneAndUpdate(
        { _id: jobId, status: { $in: IN_PROGRESS } },
        [
          {
            $set: {
              status: 'processing',
              started_at: { $ifNull: ['$started_at', '$$NOW'] },
              runs: { $add: ['$runs', 1] },
            },
          },
        ],
        { returnDocument: 'after' },
      );
    },

    /** @param jobId in either case @returns the job as it is, when it has not ended yet; else null */
    requestCancel(org: string, jobId: string): Promise<AiJobRecord | null> {
      return aiJobs.findOneAndUpdate(
        { _id: jobId.toLowerCase(), org, status: { $in: IN_PROGRESS } },
        { $set: { cancel_requested: true } },
        { returnDocument: 'after' },
      );
    },

    /** Part of the transaction that also writes the delivery. @returns the job as it ended; null when it had before */
    async finish(jobId: string, outcome: JobOutcome, now: Date, session: ClientSession): Promise<AiJobRecord | null> {
      const expires_at = new Date(now.getTime() + retentionMs);
      const ended = await aiJobs.findOneAndUpdate(
        { _id: jobId, status: { $in: IN_PROGRESS } },
        {
          $set: {
            status: outcome.status,
            error_message: outcome.error_message ?? null,
            finished_at: now,
            expires_at,
          },
        },
        { session, returnDocument: 'after' },
      );
      if (ended) await aiJobResults.updateOne({ _id: jobId }, { $set: { expires_at } }, { session });
      return ended;
    },

    /**
     * The first result counts: what has been announced does not change when an attempt that was given up wakes.
     * @param result canonical JSON
     * @throws RangeError when it is too large to be stored, even compressed
     */
    async saveResult(jobId: string, { output, original }: AiJobResult): Promise<void> {
      const packed = { output: await pack(output), original: original === null ? null : await pack(original) };
      if (packed.output.length() + (packed.original?.length() ?? 0) > MAX_PACKED_BYTES)
        throw new RangeError('too large');
      await aiJobResults.updateOne({ _id: jobId }, { $setOnInsert: { ...packed, expires_at: null } }, { upsert: true });
    },

    async getResult(jobId: string): Promise<AiJobResult | null> {
      const found = await aiJobResults.findOne({ _id: jobId });
      if (!found) return null;
      return { output: await unpack(found.output), original: found.original && (await unpack(found.original)) };
    },

    async hasResult(jobId: string): Promise<boolean> {
      return (await aiJobResults.findOne({ _id: jobId }, { projection: { _id: 1 } })) !== null;
    },

    /** A passing error of its provider. @returns how many there were, this one included */
    async countProviderFailure(jobId: string): Promise<number> {
      const after = await aiJobs.findOneAndUpdate(
        { _id: jobId },
        { $inc: { provider_failures: 1 } },
        { returnDocument: 'after', projection: { provider_failures: 1 } },
      );
      return after?.provider_failures ?? 0;
    },

    /** The run that `start` counted has ended with the process alive. */
    async countOrderlyEnd(jobId: string): Promise<void> {
      await aiJobs.updateOne({ _id: jobId }, { $inc: { runs: -1 } });
    },

    /** Whether a job that waits or runs names this upload. */
    async isFileNeeded(fileId: string): Promise<boolean> {
      return (
        (await aiJobs.findOne({ file_id: fileId, status: { $in: IN_PROGRESS } }, { projection: { _id: 1 } })) !== null
      );
    },

    /** Jobs in progress that are due for a check, without their inputs; they are not due again before `next`. */
    takeStale(before: Date, next: Date, limit: number): Promise<AiJobRecord[]> {
      const query = { before, next, limit };
      return takeStale(aiJobs, { status: { $in: IN_PROGRESS } }, query, {
        projection: { input: 0, user_parameters: 0 },
      });
    },
  };
}
