import type { CallbackEvent } from '../../domain/callbacks.js';
import type { DeliveryState, IndexingStatus } from '../../domain/states.js';
import type { IndexingEvent } from '../../domain/webhooks.js';

export interface DeliveryRecord {
  _id: string;
  org: string;
  event_type: CallbackEvent;
  /** What it announces; one delivery each. */
  subject: string;
  /** The announced thing's id as its client knows it. */
  doc_id: string;
  /** Of an item, when it ended. */
  indexing_status: IndexingStatus | null;
  /** Tells receivers apart where an organisation has several (`receiverKey`); null for its registration. */
  receiver: string | null;
  /** The body; null where it is made from the announced thing's own record. */
  payload: IndexingEvent | null;
  /** Of a crew's callback: where it goes to and the body, made once. */
  message?: CrewMessage;
  status: DeliveryState;
  attempts: number;
  /** Failed attempts since the schedule was started (anew): its place in the schedule. */
  failures: number;
  error_code: string | null;
  error_message: string | null;
  /** The address of the last attempt. */
  url: string | null;
  attempt_log: AttemptEntry[];
  /** When the next attempt is due; null once there is none. */
  next_attempt_at: Date | null;
  /** Put back by a person, and not claimed since. */
  requeued?: boolean;
  /** While `sweeping`: until when the claim holds if the claimant is never heard of again. */
  claimed_until: Date | null;
  /** From when on the sweep may wonder whether its workflow exists. */
  check_at: Date;
  /** When MongoDB removes the record; null as long as it is under way. */
  expires_at: Date | null;
  created_at: Date;
  updated_at: Date;
}

export interface AttemptEntry {
  at: Date;
  status_code: number | null;
  duration_ms: number;
  error: string | null;
  /** First KiB of the receiver's answer, as text. */
  answer: string | null;
}

/** A crew's callback as it is sent. */
export interface CrewMessage {
  url: string;
  /** JSON; every attempt sends these bytes. */
  body: string;
}
