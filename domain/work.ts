/** What workflows are started with and what they end with: ids and states, nothing else reaches a history. */
import type { FinalJobStatus } from './ai-jobs.js';
import type { TerminalIndexingStatus } from './states.js';

/** One version of one item. */
export interface ItemRef {
  /** Internal key (`itm_…`). */
  item: string;
  version: number;
}

export interface ItemOutcome {
  status: TerminalIndexingStatus;
  error_code?: string;
  /** Written for the client; never quotes the item's content. */
  error_message?: string;
}

export interface IngestRef {
  org: string;
  batch: string;
}

export interface DeliveryRef {
  /** `dlv_…` */
  delivery: string;
  org: string;
  /** Tells receivers apart where an organisation has several: a hash, never an address. */
  receiver?: string;
}

export interface DatabaseRef {
  org: string;
  tenant: string;
}

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

/** An item was deleted or replaced while this version was under way: nothing to announce any more. */
export const SUPERSEDED = 'Superseded';

/** How much quiet work of each kind a sweep has looked after. */
export interface SweepFindings {
  items: number;
  jobs: number;
  deliveries: number;
  databases: number;
}
