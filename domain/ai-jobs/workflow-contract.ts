import type { FinalJobStatus } from './jobs.js';

/** Input of the workflow of an AI job. */
export interface JobRef {
  job: string;
  org: string;
  /** Milliseconds after which the job fails. */
  time_limit_ms: number;
  /** Whether the job is expected to take well under a second. */
  quick?: true;
}

/** How an AI job finished. Its output is in MongoDB. */
export interface JobOutcome {
  status: FinalJobStatus;
  /** Only of a cancelled job. */
  error_code?: typeof CANCELLED;
  /** Written for the client; never quotes the input. */
  error_message?: string;
}

/** The type of the failure that fails an AI job. Its message is for the client. */
export const JOB_FAILED = 'JobFailed';

/** The error code of a cancelled job, and its message. */
export const CANCELLED = 'cancelled';
export const JOB_CANCELLED = 'The job was cancelled.';
