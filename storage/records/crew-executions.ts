import type { CrewDefinition, CrewTaskStatus, ExecutionStatus, WebhookUrls } from '../../domain/crews.js';

export interface CrewExecutionRecord {
  /** UUID. */
  _id: string;
  org: string;
  crew: string;
  /** As the crew was when it was kicked off: an execution goes on with it, whatever happens to the files. */
  definition: CrewDefinition;
  /** As JSON, because their names may be any; so is `meta`. */
  inputs: string;
  meta: string | null;
  status: ExecutionStatus;
  /** Of the kickoff, then of the latest resume. */
  urls: WebhookUrls;
  tasks: CrewTaskRecord[];
  error_message: string | null;
  /** From when on the sweep may wonder whether its workflow exists. */
  check_at: Date;
  created_at: Date;
  finished_at: Date | null;
  /** When MongoDB removes the record; null as long as it is under way. */
  expires_at: Date | null;
}

/** A task within an execution. */
export interface CrewTaskRecord {
  task_id: string;
  agent: string;
  status: CrewTaskStatus;
  attempts: number;
  /** Of the latest attempt that gave one. */
  output: string | null;
  /** The label of the model that works on it. */
  model: string | null;
}

/** What a person answered. */
export interface CrewFeedbackRecord {
  /** `fbk_…` */
  _id: string;
  execution: string;
  task: string;
  attempt: number;
  text: string;
  is_approve: boolean;
  urls: WebhookUrls;
  created_at: Date;
  /** Null until it took effect; one that never did counts for nothing. */
  applied_at: Date | null;
  /** What the attempt that it is about gave. */
  output: string | null;
  expires_at: Date | null;
}
