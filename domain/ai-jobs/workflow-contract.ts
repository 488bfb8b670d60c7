import type { FinalJobStatus } from './states.js';

/** Input of the workflow of an AI job. */
export interface JobRef {
  job: string;
  org: string;
  /** Milliseconds after which the job fails. */
  time_limit_ms: number;
  /** Whether the job is expected to take well under a second. */
  quick?: true;
}

/** Quick jobs of one organisation that run together. */
export interface JobGroupRef {
  /** `grp_…` */
  group: string;
  org: string;
  /** Ids of the jobs. */
  jobs: string[];
}

/** What running the jobs of a group has brought. */
export interface JobGroupRun {
  /** Jobs that finished with an error. */
  failed: number;
  /** Ids of the jobs that must be continued. */
  left: string[];
}

/** Outcomes of the jobs of a group. */
export interface JobGroupReport {
  succeeded: number;
  failed: number;
  /** Continued by workflows of their own. */
  separated: number;
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
