/** A connector, and from its second run on which of its syncs goes on. */
export interface SyncRef {
  /** `con_…` */
  connector: string;
  org: string;
  /** Counts the connector's syncs. */
  sync?: number;
}

/** A sync that has been begun. */
export type StartedSync = Required<SyncRef>;

/** How a sync ended; what became of each resource lies in MongoDB. */
export interface SyncOutcome {
  status: 'completed' | 'failed';
  error_code?: string;
  /** Written for the client; names no address. */
  error_message?: string;
}

/** The type of the failure that ends a sync because its connector is gone or another sync has begun. */
export const SYNC_ENDED = 'SyncEnded';
