import { newDeliveryId } from '../ids.js';
import type { NewDelivery } from '../webhooks/deliveries.js';
import type { AUTHENTICATION_ENDED } from '../webhooks/events.js';

/** The fields of an ended authentication that its callback reports; a subset of `AuthenticationRecord`. */
export interface EndedAuthentication {
  _id: string;
  org: string;
  status: string;
  amount: number;
  currency: string;
  webhook_url: string | null;
  check: { sdk_next_action: string } | null;
}

/** One delivery for each authentication: it ends once. */
export const endedDedupeKey = (authenticationId: string): string => `authentication/${authenticationId}`;

/**
 * The delivery for the end of an authentication. Its body is built once, so all attempts send the same bytes.
 * @returns null when the merchant gave no `webhook_url`
 */
export function endedDelivery(
  { _id, org, status, amount, currency, webhook_url, check }: EndedAuthentication,
  now: Date,
): NewDelivery | null {
  if (webhook_url === null) return null;
  const delivery_id = newDeliveryId(now);
  const event: typeof AUTHENTICATION_ENDED = 'authentication.ended';
  const payload = {
    event,
    delivery_id,
    authentication_id: _id,
    status,
    amount,
    currency,
    sdk_next_action: check?.sdk_next_action ?? null,
    timestamp: now.toISOString(),
  };
  return {
    _id: delivery_id,
    org,
    dedupe_key: endedDedupeKey(_id),
    event_type: event,
    doc_id: _id,
    url: webhook_url,
    message: { url: webhook_url, body: JSON.stringify(payload) },
    now,
  };
}
