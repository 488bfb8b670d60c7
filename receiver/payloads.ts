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
