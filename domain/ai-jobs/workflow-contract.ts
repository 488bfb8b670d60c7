import type { FinalJobStatus } from './jobs.js';

/** One AI job. */
export interface JobRef {
  job: string;
  org: string;
  /** Milliseconds until it is given up. */
  time_limit_ms: number;
}

/** How an AI job ended; its output lies in MongoDB. */
export interface JobOutcome {
  status: FinalJobStatus;
  /** Written for the client; never quotes the input. */
  error_message?: string;
}

/** The type of the failure that ends an AI job: its message is for the client. */
export const JOB_FAILED = 'JobFailed';

/** What the client of a cancelled job reads. */
export const JOB_CANCELLED = 'The job was cancelled.';
