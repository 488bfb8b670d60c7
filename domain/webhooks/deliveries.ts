import type { IndexingStatus } from '../content/states.js';
import { sha256Hex } from '../ids.js';
import type { CallbackEvent, IndexingEvent } from './events.js';
import type { SealedHeaders } from './static-headers.js';

/** A delivery before it is stored: the event, and the receiver. */
export interface NewDelivery {
  /** `dlv_…` */
  _id: string;
  org: string;
  /** Identifies the event, so that a repeated transaction does not store a second delivery for it. */
  dedupe_key: string;
  event_type: CallbackEvent;
  /** The client's id of the item, job or execution. */
  doc_id: string;
  /** The crew of an execution. */
  crew?: string;
  /** Absent when the receiver is the organisation's registration. */
  url?: string;
  /** Body of an indexing webhook. */
  payload?: IndexingEvent;
  /** Status of the item. */
  indexing_status?: IndexingStatus;
  /** The complete callback, when it is built once and not at each attempt; requires `url`. */
  message?: CallbackMessage;
  /** Id of the RSA key that signs a job's callback. */
  signing_key?: string;
  now: Date;
}

/** Why a delivery is not sent, beside what its receiver and the network answer. */
export const NOT_SENT = [
  'WEBHOOK_NOT_FOUND',
  'WEBHOOK_DISABLED',
  'SUPERSEDED',
  'JOB_NOT_FOUND',
  'MESSAGE_NOT_FOUND',
  'SIGNING_SECRET_NOT_FOUND',
  'INTERNAL_ERROR',
] as const;
export type NotSentReason = (typeof NOT_SENT)[number];

/** A callback as every attempt sends it. */
export interface CallbackMessage {
  url: string;
  /** JSON. */
  body: string;
  /** Static headers of the receiver. */
  headers?: SealedHeaders;
}

/**
 * Identifies a receiver of an organisation that may have several, so that a receiver that hangs does not slow down the
 * others.
 * @returns a hash of the organisation and the URL's origin, because it may appear where addresses must not
 */
export function receiverKey(org: string, url: string): string {
  return sha256Hex(`${org} ${new URL(url).origin}`).slice(0, 16);
}
