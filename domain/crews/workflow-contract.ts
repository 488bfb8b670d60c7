import type { CrewReview, ExecutionErrorCode } from './crews.js';

/** The properties of a task that the workflow needs. */
export interface CrewTaskPlan {
  task: string;
  human_input: boolean;
  /** Set when later tasks that do not need its output run beside it. Such a task never waits for a person. */
  async?: boolean;
  /** Async tasks that must have completed before it starts. */
  needs?: string[];
  /** Maximum number of model calls in one attempt. The last call must return the output. */
  max_steps: number;
}

/** Input of an execution's workflow, with its progress. Everything else is in MongoDB. */
export interface CrewRef {
  execution: string;
  org: string;
  tasks: CrewTaskPlan[];
  /** Number of tasks, from the first, that have completed or run beside the next one. */
  done: number;
  /** Attempt at the next task that is not async, from 1. */
  attempt: number;
  /** Tasks that have completed before an earlier one; only after a workflow was lost. */
  ended?: string[];
  /** The next attempt, if its output waits for a person already; only after a workflow was lost. */
  waiting?: WaitingAttempt;
  /** Absent: outputs wait for a person without limit. */
  review?: CrewReview;
}

/** One attempt at one task. */
export interface AttemptRef {
  execution: string;
  org: string;
  task: string;
  attempt: number;
}

/** An output that waits for a person when its workflow starts. */
export interface WaitingAttempt {
  task: string;
  /** How long it has waited, in milliseconds. */
  waited: number;
}

/** One model call of an attempt. */
export interface StepRef extends AttemptRef {
  /** From 1. */
  step: number;
  /** Set when the model must return the output. */
  last?: boolean;
}

/** One of the tool calls that a model call returned. */
export interface ToolCallRef extends StepRef {
  /** From 0. */
  call: number;
}

/** A person's feedback. Its text is in MongoDB. */
export interface ResumeRef extends AttemptRef {
  /** `fbk_…` */
  feedback: string;
  is_approve: boolean;
}

export type ResumeStatus = 'resumed' | 'retrying' | 'completed';

/** How an execution finished. Its output is in MongoDB. */
export interface CrewOutcome {
  status: 'completed' | 'error';
  error_code?: ExecutionErrorCode;
  /** Written for the client; never quotes inputs or outputs. */
  error_message?: string;
}

/** The type of the failure that fails an execution. Its message is for the client. */
export const CREW_FAILED = 'CrewFailed';

/** The error message of a cancelled execution. */
export const CREW_CANCELLED = 'The execution was cancelled.';

/** The type of the failure with which a workflow rejects feedback. */
export const NOT_PENDING = 'NotPending';

/** The update with which a person's feedback reaches an execution. */
export const RESUME = 'resume';
