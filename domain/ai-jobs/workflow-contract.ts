import type { FinalJobStatus } from './jobs.js';

/** Input of the workflow of an AI job. */
export interface JobRef {
  job: string;
  org: string;
  /** Milliseconds after which the job fails. */
  time_limit_ms: number;
}

/** How an AI job finished. Its output is in MongoDB. */
export interface JobOutcome {
  status: FinalJobStatus;
  /** Written for the client; never quotes the input. */
  error_message?: string;
}

/** The type of the failure that fails an AI job. Its message is for the client. */
export const JOB_FAILED = 'JobFailed';

/** The error message of a cancelled job. */
export const JOB_CANCELLED = 'The job was cancelled.';
