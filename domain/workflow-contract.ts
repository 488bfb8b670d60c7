/** Task queues. Each has its own worker, which is scaled separately. */
export const TASK_QUEUES = ['content', 'ai', 'crews', 'connectors', 'deliveries'] as const;
export type TaskQueue = (typeof TASK_QUEUES)[number];

/** The detail of a failure whose type (an error code) and message are for the client. */
export const FOR_CLIENT = 'for the client';

/** The type of a failure caused by this service. */
export const INTERNAL_ERROR = 'INTERNAL_ERROR';

/** Records that one run of the reconciler has checked, by kind. */
export interface ReconcileReport {
  items: number;
  jobs: number;
  crews: number;
  deliveries: number;
  databases: number;
  removals: number;
  /** Connectors whose schedule or removal Temporal may not know. */
  connectors: number;
  /** Items whose index rows are out of date. */
  index_rows: number;
}
