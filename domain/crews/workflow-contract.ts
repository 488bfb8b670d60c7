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
export const RESUME_REJECTED = { notPending: 'NotPending', unknownTask: 'UnknownTask' } as const;

/** The update with which a person's feedback reaches an execution. */
export const RESUME = 'resume';
