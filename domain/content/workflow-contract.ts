import type { TerminalIndexingStatus } from '../states.js';

/** One version of one item. */
export interface ItemRef {
  /** Internal key (`itm_…`). */
  item: string;
  version: number;
}

export interface ItemOutcome {
  status: TerminalIndexingStatus;
  error_code?: string;
  /** Written for the client; never quotes the item's content. */
  error_message?: string;
}

export interface IngestRef {
  org: string;
  batch: string;
}

export interface DatabaseRef {
  org: string;
  database_id: string;
}

/** Deleted items whose remaining data must be cleared. */
export interface RemovalRef {
  org: string;
  /** `rmv_…` */
  removal: string;
}

/** The type of the failure that ends a workflow because its item was deleted or replaced. No webhook is sent. */
export const SUPERSEDED = 'Superseded';
