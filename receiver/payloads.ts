/** The payloads of the callbacks. New fields may be added: ignore fields that you do not know. */

/** An item has reached a terminal indexing status. Route on `database`, deduplicate on `delivery_id`. */
export interface IndexingEvent {
  event: 'indexing.status_changed';
  /** The same for every attempt of a delivery. Ids of test deliveries start with `test_`. */
  delivery_id: string;
  /** The identifier of the item, as supplied at ingestion. */
  id: string;
  database: string;
  collection: string;
  /** `success` is a legacy alias of `completed`. */
  status: 'completed' | 'errored' | 'success';
  /** When the payload was created, ISO 8601. */
  timestamp: string;
  /** The version of the item: a replacement has a higher one. */
  version: number;
  error_code?: string;
  error_message?: string;
  /** Present and true on test deliveries only. */
  test?: true;
  /** @deprecated the internal id of the database */
  tenant_id: string;
  /** @deprecated the same as `collection` */
  sub_tenant_id: string;
}

interface JobCallbackBase {
  event: 'async_job_completed';
  /** UUID. A job may send its callback more than once. */
  job_id: string;
  feature: string;
  subfeature: string;
  provider: string;
  model: string | null;
  /** ISO 8601. */
  created_at: string;
  /** ISO 8601. */
  finished_at: string;
  /** The provider's own response, when the job requested it with `show_original_response`. */
  original_response?: unknown;
  /** The job's `user_webhook_parameters`, if any. */
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
  /** UUID: the `kickoff_id` of the execution. */
  execution_id: string;
  /** Rises with every event of the execution. Callbacks may arrive out of order: sort by this number. There may be gaps. */
  sequence: number;
  /** The `meta` of the kickoff; null without one. */
  meta: Record<string, unknown> | null;
  /** When the event happened, ISO 8601. */
  timestamp: string;
}

interface CrewTaskCallbackBase extends CrewCallbackBase {
  task_id: string;
  /** The agent that works on the task. */
  agent: string;
}

/** A task has its final output (`task_completed`), or its output waits for feedback by `POST …/resume`. */
export interface CrewTaskCallback extends CrewTaskCallbackBase {
  event: 'task_completed' | 'task_pending_human_input';
  output: string;
  /** Of an output that waits: where a person without a key decides. The link is a secret. */
  review_url?: string;
  /** Of an output that waits: when the decision is due, ISO 8601. */
  deadline?: string;
  /** True when the callback repeats, shortly before the deadline, that the output waits. */
  reminder?: true;
}

/** Output of the model: a thought, and the tools that the agent wants to use. */
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
  /** False when the tool failed; `result` has the reason then. */
  ok: boolean;
  result: string;
}

export interface CrewStepCallback extends CrewTaskCallbackBase {
  event: 'step';
  output: CrewThought | CrewAction;
}

export interface CrewCompleted extends CrewCallbackBase {
  event: 'crew_completed';
  /** The output of the last task. */
  output: string;
}

export interface CrewFailed extends CrewCallbackBase {
  event: 'crew_failed';
  /** The reason. */
  error: string;
  /** Absent when the reason has no code. */
  error_code?: string;
}

/** Any callback of a crew; `event` tells the types apart. */
export type CrewCallback = CrewTaskCallback | CrewStepCallback | CrewCompleted | CrewFailed;

/** A payment authentication has ended. Deduplicate on `delivery_id`. */
export interface AuthenticationCallback {
  event: 'authentication.ended';
  /** The same for every attempt of a delivery. */
  delivery_id: string;
  authentication_id: string;
  status: 'closed' | 'expired';
  /** In the smallest unit of the currency. */
  amount: number;
  /** ISO 4217. */
  currency: string;
  /** Null when no eligibility check was made. */
  sdk_next_action: 'await_merchant_callback' | 'proceed' | 'deny' | null;
  /** ISO 8601. */
  timestamp: string;
}
