/** Input of a sync's workflow. `sync` is set when the workflow continues as new. */
export interface SyncRef {
  /** `con_…` */
  connector: string;
  org: string;
  /** Number of the sync, from 1. */
  sync?: number;
}

/** A sync that has started. */
export type StartedSync = Required<SyncRef>;

/** How a sync finished. The outcomes of its resources are in MongoDB. */
export interface SyncOutcome {
  status: 'completed' | 'failed';
  error_code?: string;
  /** Written for the client; contains no address. */
  error_message?: string;
}

/** The error code of a sync that an operator cancelled. */
export const SYNC_CANCELLED = 'CANCELLED';

/** The type of the failure that ends a sync because its connector was deleted or another sync has started. */
export const SYNC_ENDED = 'SyncEnded';
