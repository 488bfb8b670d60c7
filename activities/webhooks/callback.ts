import type { DeliveryPolicy } from '../../domain/webhooks/delivery-policy.js';
import type { DeliveryRecord } from '../../storage/webhooks/deliveries.js';

/** What one attempt sends, and where to. */
export interface CallbackRequest {
  url: string;
  headers: Record<string, string>;
  body: Buffer;
  /** Told how the attempt went, once that is on record. */
  attempted?(delivered: boolean, now: Date): Promise<void>;
}

/** Why a delivery cannot be sent any more. */
export interface Undeliverable {
  error_code: string;
  error_message: string;
  /** Whether another attempt may help. */
  mendable?: boolean;
}

/** One kind of callback: when it is tried again, whom it goes to and what is sent. */
export interface Callback {
  policy: DeliveryPolicy;
  /** Asked anew for each attempt, so that it goes to the address and is signed with the key of that moment. */
  prepare(delivery: DeliveryRecord): Promise<CallbackRequest | Undeliverable>;
}
