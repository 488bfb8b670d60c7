/** What the callbacks carry. Fields may be added over time: ignore those you do not know. */

/** An item has reached a terminal indexing status. Route on `database`, deduplicate on `delivery_id`. */
export interface IndexingEvent {
  event: 'indexing.status_changed';
  /** The same for every attempt at one event. Test deliveries start with `test_`. */
  delivery_id: string;
  /** The identifier of the item, as supplied at ingestion. */
  id: string;
  database: string;
  collection: string;
  /** `success` is a legacy alias of `completed`. */
  status: 'completed' | 'errored' | 'success';
  /** When the payload was made, ISO 8601. */
  timestamp: string;
  error_code?: string;
  error_message?: string;
  /** Present and true on test deliveries only. */
  test?: true;
  /** @deprecated an identifier of the database, not its name */
  tenant_id: string;
  /** @deprecated the same as `collection` */
  sub_tenant_id: string;
}

interface JobCallbackBase {
  event: 'async_job_completed';
  /** UUID. The same job may be called back more than once. */
  job_id: string;
  feature: string;
  subfeature: string;
  provider: string;
  model: string | null;
  /** ISO 8601. */
  created_at: string;
  /** ISO 8601. */
  finished_at: string;
  /** The provider's own answer, when the job asked for it by `show_original_response`. */
  original_response?: unknown;
  /** The job's `user_webhook_parameters`, when it had any. */
  user_parameters?: Record<string, unknown>;
}

export interface JobSuccess extends JobCallbackBase {
  status: 'success';
  output: Record<string, unknown>;
}

export interface JobFailure extends JobCallbackBase {
  status: 'fail';
  error: { message: string };
}

/** An AI job has finished. */
export type JobCallback = JobSuccess | JobFailure;

interface CrewCallbackBase {
  /** UUID, as the kickoff gave it. */
  execution_id: string;
  /** As the kickoff gave it; null when it gave none. */
  meta: Record<string, unknown> | null;
  /** When it happened, ISO 8601. Callbacks may overtake one another: go by this. */
  timestamp: string;
}

interface CrewTaskCallbackBase extends CrewCallbackBase {
  task_id: string;
  /** Who works on the task. */
  agent: string;
}

/** The output of a task stands (`task_completed`), or waits for a person to answer by `POST …/resume`. */
export interface CrewTaskCallback extends CrewTaskCallbackBase {
  event: 'task_completed' | 'task_pending_human_input';
  output: string;
}

/** An agent has thought, and perhaps asked for tools. */
export interface CrewThought {
  type: 'thought';
  text: string;
  actions?: { tool: string; input: Record<string, unknown> }[];
}

/** An agent has used a tool. */
export interface CrewAction {
  type: 'action';
  tool: string;
  input: Record<string, unknown>;
  /** Whether the tool could do it; when not, `result` says why. */
  ok: boolean;
  result: string;
}

export interface CrewStepCallback extends CrewTaskCallbackBase {
  event: 'step';
  output: CrewThought | CrewAction;
}

export interface CrewCompleted extends CrewCallbackBase {
  event: 'crew_completed';
  /** Of the last task. */
  output: string;
}

export interface CrewFailed extends CrewCallbackBase {
  event: 'crew_failed';
  /** Why. */
  error: string;
}

/** Something has happened in an execution of a crew; `event` says what. */
export type CrewCallback = CrewTaskCallback | CrewStepCallback | CrewCompleted | CrewFailed;
