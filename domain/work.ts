/** What workflows are started with and what they end with: ids and states, nothing else reaches a history. */
import type { TerminalIndexingStatus } from './states.js';

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

export interface DeliveryRef {
  /** `dlv_…` */
  delivery: string;
  org: string;
  /** Tells receivers apart where an organisation has several: a hash, never an address. */
  receiver?: string;
}

export interface DatabaseRef {
  org: string;
  tenant: string;
}

/** An item was deleted or replaced while this version was under way: nothing to announce any more. */
export const SUPERSEDED = 'Superseded';
