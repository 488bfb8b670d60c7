import { newDeliveryId } from '../../domain/ids.js';
import { AUTHENTICATION_ENDED } from '../../domain/webhooks/events.js';
import type { NewDelivery } from '../webhooks/new-delivery.js';
import type { AuthenticationRecord } from './authentications.js';

/**
 * The delivery for the end of an authentication. Its body is built once, so all attempts send the same bytes.
 * @returns null when the merchant gave no `webhook_url`
 */
export function endedDelivery(
  { _id, org, status, amount, currency, webhook_url, check }: AuthenticationRecord,
  now: Date,
): NewDelivery | null {
  if (webhook_url === null) return null;
  const delivery_id = newDeliveryId(now);
  const payload = {
    event: AUTHENTICATION_ENDED,
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
    // An authentication ends once.
    dedupe_key: `authentication/${_id}`,
    event_type: AUTHENTICATION_ENDED,
    doc_id: _id,
    url: webhook_url,
    message: { url: webhook_url, body: JSON.stringify(payload) },
    now,
  };
}
