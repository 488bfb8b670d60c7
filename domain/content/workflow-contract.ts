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

/** Deleted items whose remains are to be cleared away. */
export interface RemovalRef {
  org: string;
  /** `rmv_…` */
  removal: string;
}

/** An item was deleted or replaced while this version was under way: nothing to announce any more. */
export const SUPERSEDED = 'Superseded';
