import { createHmac } from 'node:crypto';

/** @returns the value of `X-Service-Signature`: `sha256=` and the HMAC-SHA256 of the body in lower-case hex */
export function signatureHeader(body: Uint8Array, secret: string): string {
  return `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`;
}

/** Headers of a webhook (specification, "Outbound webhook request"); without a secret, they have no signature. */
export function webhookHeaders(
  event: { delivery_id: string; event: string },
  body: Uint8Array,
  secret: string | null,
): Record<string, string> {
  return {
    'Content-Type': 'application/json',
    'X-Service-Delivery-ID': event.delivery_id,
    'X-Service-Event': event.event,
    ...(secret === null ? {} : { 'X-Service-Signature': signatureHeader(body, secret) }),
  };
}
