import { createHmac } from 'node:crypto';

/** @returns the value of `X-Service-Signature`: `sha256=` and the HMAC-SHA256 of the body in lower-case hex */
export function signatureHeader(body: Uint8Array, secret: string): string {
  return `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`;
}

/**
 * Headers of one attempt to send a webhook: those of the specification ("Outbound webhook request"), and those of
 * Standard Webhooks 1.0.
 * @param secrets the current secret, then previous secrets that receivers may still use; without any, the webhook is
 * not signed
 * @param now the time of the attempt, which limits how long the request verifies
 */
export function webhookHeaders(
  { delivery_id, event }: { delivery_id: string; event: string },
  body: Uint8Array,
  secrets: readonly string[],
  now: Date,
): Record<string, string> {
  const [current] = secrets;
  const headers = {
    'Content-Type': 'application/json',
    'X-Service-Delivery-ID': delivery_id,
    'X-Service-Event': event,
  };
  if (current === undefined) return headers;
  const timestamp = String(Math.floor(now.getTime() / 1000));
  return {
    ...headers,
    'X-Service-Signature': signatureHeader(body, current),
    'webhook-id': delivery_id,
    'webhook-timestamp': timestamp,
    'webhook-signature': secrets.map((secret) => standardSignature(delivery_id, timestamp, body, secret)).join(' '),
  };
}

function standardSignature(id: string, timestamp: string, body: Uint8Array, secret: string): string {
  const hmac = createHmac('sha256', standardKey(secret)).update(`${id}.${timestamp}.`).update(body);
  return `v1,${hmac.digest('base64')}`;
}

/**
 * The HMAC key that libraries of Standard Webhooks read from a secret: without the prefix `whsec_` and decoded, when the
 * rest is standard base64, padded or not. Any other secret is the key itself, which is the libraries' raw format.
 */
function standardKey(secret: string): Buffer {
  const [, digits] = /^(?:whsec_)?([A-Za-z0-9+/]+)={0,2}$/.exec(secret) ?? [];
  const isBase64 = digits !== undefined && digits.length % 4 !== 1;
  return isBase64 ? Buffer.from(digits, 'base64') : Buffer.from(secret, 'utf8');
}
