import type { IndexingStatus } from '../states.js';
import type { CallbackEvent, IndexingEvent } from './events.js';

/** A delivery before it is stored: what it notifies of, and who receives it. */
export interface NewDelivery {
  /** `dlv_…` */
  _id: string;
  org: string;
  /** Names the event, so that a repeated transaction finds the delivery it has stored. */
  dedupe_key: string;
  event_type: CallbackEvent;
  /** The client's id of the item, job or execution. */
  doc_id: string;
  /** Absent where the receiver is the organisation's registration. */
  url?: string;
  /** Body of an indexing webhook. */
  payload?: IndexingEvent;
  /** Status of the item. */
  indexing_status?: IndexingStatus;
  /** The callback itself, where it is written once and not at each attempt; needs `url`. */
  message?: CallbackMessage;
  now: Date;
}

/** A callback as every attempt sends it. */
export interface CallbackMessage {
  url: string;
  /** JSON. */
  body: string;
}
