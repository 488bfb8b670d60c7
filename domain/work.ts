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

/** Deleted items whose remains are to be cleared away. */
export interface RemovalRef {
  org: string;
  /** `rmv_…` */
  removal: string;
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

/** A task of a crew, as far as its workflow has to know it. */
export interface CrewTaskPlan {
  task: string;
  human_input: boolean;
  /** Model calls of one attempt; the last one must answer. */
  max_steps: number;
}

/** One execution of a crew, and how far it is; all else lies in MongoDB. */
export interface CrewRef {
  execution: string;
  org: string;
  tasks: CrewTaskPlan[];
  /** Tasks that are done. */
  done: number;
  /** Of the next task, counted from 1. */
  attempt: number;
}

/** One attempt at one task. */
export interface AttemptRef {
  execution: string;
  task: string;
  attempt: number;
}

/** One model call of an attempt, counted from 1. */
export interface StepRef extends AttemptRef {
  step: number;
  /** The model must answer now. */
  last?: boolean;
}

/** A tool call that a model call asked for, counted from 0. */
export interface ToolCallRef extends StepRef {
  call: number;
}

/** A person's answer; what it says lies in MongoDB. */
export interface ResumeRef extends AttemptRef {
  /** `fbk_…` */
  feedback: string;
  is_approve: boolean;
}

export type ResumeStatus = 'resumed' | 'retrying' | 'completed';

/** How an execution ended; its output lies in MongoDB. */
export interface CrewOutcome {
  status: 'completed' | 'error';
  /** Written for the client; never quotes inputs or outputs. */
  error_message?: string;
}

/** The type of the failure that ends an execution: its message is for the client. */
export const CREW_FAILED = 'CrewFailed';

/** What the client of a cancelled execution reads. */
export const CREW_CANCELLED = 'The execution was cancelled.';

/** The types of the failures with which a workflow refuses an answer. */
export const RESUME_REFUSED = { notPending: 'NotPending', unknownTask: 'UnknownTask' } as const;

/** The type of the failure that ends an AI job: its message is for the client. */
export const JOB_FAILED = 'JobFailed';

/** What the client of a cancelled job reads. */
export const JOB_CANCELLED = 'The job was cancelled.';

/** An item was deleted or replaced while this version was under way: nothing to announce any more. */
export const SUPERSEDED = 'Superseded';

/** A connector, and from its second run on which of its syncs goes on. */
export interface SyncRef {
  /** `con_…` */
  connector: string;
  org: string;
  /** Counts the connector's syncs. */
  sync?: number;
}

/** A sync that has been begun. */
export type BegunSync = Required<SyncRef>;

/** How a sync ended; what became of each resource lies in MongoDB. */
export interface SyncOutcome {
  status: 'completed' | 'failed';
  error_code?: string;
  /** Written for the client; names no address. */
  error_message?: string;
}

/** The type of the failure that ends a sync because its connector is gone or another sync has begun. */
export const SYNC_ENDED = 'SyncEnded';

/** How much quiet work of each kind a sweep has looked after. */
export interface SweepFindings {
  items: number;
  jobs: number;
  crews: number;
  deliveries: number;
  databases: number;
  removals: number;
  /** Connectors whose schedule or removal was not set in motion. */
  connectors?: number;
  /** Items whose index rows are behind. */
  index_rows?: number;
}
