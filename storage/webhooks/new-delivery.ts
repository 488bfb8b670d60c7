import { sha256Hex } from '../../domain/ids.js';
import { currentTraceparent } from '../../domain/trace-context.js';
import type { DeliveryRecord } from './deliveries.js';
import type { StoredHeaders } from './static-headers.js';

/** A callback as every attempt sends it. */
export interface CallbackMessage {
  url: string;
  /** JSON. */
  body: string;
  /** Static headers of the receiver. */
  headers?: StoredHeaders;
}

/** A delivery before it is stored: the event, and the receiver. */
export type NewDelivery = Pick<
  DeliveryRecord,
  '_id' | 'org' | 'dedupe_key' | 'event_type' | 'doc_id' | 'crew' | 'message' | 'signing_key'
> &
  Partial<Pick<DeliveryRecord, 'payload' | 'indexing_status'>> & {
    /** Null: none; absent: the trace of the running code. */
    trace?: string | null;
    /** Required with a message. Absent when the receiver is the organisation's registration. */
    url?: string;
    now: Date;
  };

/**
 * Identifies a receiver of an organisation that may have several, so that a receiver that hangs does not slow down the
 * others.
 * @returns a hash of the organisation and the URL's origin, because it may appear where addresses must not
 */
function receiverKey(org: string, url: string): string {
  return sha256Hex(`${org} ${new URL(url).origin}`).slice(0, 16);
}

/** @returns the record of a new delivery: pending, and due at once */
export function pendingDelivery(
  { now, url, trace = currentTraceparent() ?? null, ...delivery }: NewDelivery,
  has_workflow: boolean,
): DeliveryRecord {
  return {
    indexing_status: null,
    payload: null,
    ...delivery,
    receiver: url === undefined ? delivery.org : receiverKey(delivery.org, url),
    ...(trace === null ? {} : { trace }),
    status: 'pending',
    attempts: 0,
    failures: 0,
    error_code: null,
    error_message: null,
    url: null,
    attempt_log: [],
    next_attempt_at: now,
    has_workflow,
    check_at: has_workflow ? now : null,
    expires_at: null,
    created_at: now,
    updated_at: now,
  };
}
