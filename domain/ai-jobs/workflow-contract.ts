import type { FinalJobStatus } from './states.js';

export interface JobRef {
  job: string;
  org: string;
}

/** AI jobs of one organisation that share a workflow: one, or many quick ones. */
export interface JobsRef {
  org: string;
  /** Ids of the jobs. */
  jobs: string[];
  /** Milliseconds after which a job fails. */
  time_limit_ms: number;
  /** Whether the jobs are expected to take well under a second. */
  quick?: true;
}

/** The signal that cancels the job whose id it has. */
export const CANCEL_JOB = 'cancelJob';

/** How the jobs of a workflow ended. */
export interface JobsReport {
  succeeded: number;
  failed: { job: string; error_message: string | undefined }[];
}

/** What the attempt at quick jobs together has brought. */
export interface JobsAttempt extends JobsReport {
  /** Ids of the jobs that continue one by one. */
  left: string[];
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
