import { newTestDeliveryId } from '../../domain/ids.js';
import type { OutboundClient } from '../../domain/outbound.js';
import { testEvent } from '../../domain/webhooks/events.js';
import { webhookHeaders } from '../../domain/webhooks/headers.js';
import type { RegistrationRecord } from '../../storage/webhooks/registrations.js';

/** Sends the test payload once, signed like every delivery. It is not retried and leaves no record. */
export async function sendTestDelivery(
  outbound: OutboundClient,
  registration: RegistrationRecord,
  secrets: readonly string[],
  timeoutMs: number,
): Promise<{ delivered: boolean; status_code: number | null; message: string }> {
  const now = new Date();
  const event = testEvent(newTestDeliveryId(), registration._id, now);
  const body = Buffer.from(JSON.stringify(event));
  try {
    const { status } = await outbound.send({
      method: 'POST',
      url: registration.url,
      headers: webhookHeaders(event, body, secrets, now),
      body,
      timeoutMs,
      maxResponseBytes: 1024,
      excerpt: true,
    });
    const delivered = status >= 200 && status < 300;
    return {
      delivered,
      status_code: status,
      message: delivered ? 'The receiver accepted the test delivery.' : `The receiver responded with status ${status}.`,
    };
  } catch (error) {
    return { delivered: false, status_code: null, message: (error as Error).message };
  }
}
