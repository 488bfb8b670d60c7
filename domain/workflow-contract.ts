/**
 * Task queues. Each has its own worker, which is scaled separately. `control` has the reconciler, provisioning and
 * deletion, which must not wait behind the work of the other queues.
 */
export const TASK_QUEUES = ['content', 'ai', 'crews', 'connectors', 'deliveries', 'control'] as const;
export type TaskQueue = (typeof TASK_QUEUES)[number];

/** The detail of a failure whose type (an error code) and message are for the client. */
export const FOR_CLIENT = 'for the client';

/** The type of a failure caused by this service. */
export const INTERNAL_ERROR = 'INTERNAL_ERROR';

/**
 * Kinds of records whose workflow a crash can lose. `connectors` are those whose schedule or removal Temporal may not
 * know, `index_rows` are items whose index rows are out of date, `authentications` are those that are open after their time, `index_rebuilds` those with new vectors.
 */
export const STALE_KINDS = [
  'items',
  'jobs',
  'crews',
  'deliveries',
  'databases',
  'removals',
  'connectors',
  'index_rows',
  'replays',
  'authentications',
  'index_rebuilds',
] as const;
export type StaleKind = (typeof STALE_KINDS)[number];

/** Number of records that a job of the reconciler has handled, and of those on which it failed. */
export interface JobReport {
  done: number;
  failed: number;
}

/** A search for lost work. */
export interface SweepRef {
  /** Milliseconds without a change after which a record is checked; default: the setting. */
  quiet_ms?: number;
}

export type ReconcileReport = Record<StaleKind, JobReport>;
