import type { DeliveryPolicy } from '../../domain/webhooks/delivery-policy.js';
import type { DeliveryRecord } from '../../storage/webhooks/deliveries.js';

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

/** One kind of callback: its retry policy, and how its requests are built. */
export interface Callback {
  policy: DeliveryPolicy;
  /** Called for each attempt, so that every request uses the current address and key. */
  prepare(delivery: DeliveryRecord): Promise<CallbackRequest | Undeliverable>;
  /** The same for deliveries that were claimed together and are sent at once, which can share the records that are read for them. */
  forBatch?(): Callback;
}

/** The request of one attempt. */
export interface CallbackRequest {
  url: string;
  headers: Record<string, string>;
  body: Buffer;
  /** Called when the request has ended, or was not sent. */
  release?(): void;
  /** Called when the attempt is recorded; of a batch, once for each `receiver`. */
  attempted?(delivered: boolean, now: Date): Promise<void>;
  /** The record that `attempted` updates. */
  receiver?: object;
}

/** Why no request can be built. */
export interface Undeliverable {
  error_code: (typeof NOT_SENT)[number];
  error_message: string;
  /** Whether another attempt may succeed. Default: false. */
  retryable?: boolean;
}
