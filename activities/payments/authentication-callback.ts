import type { DeliveryPolicy } from '../../domain/webhooks/delivery-policy.js';
import { webhookHeaders } from '../../domain/webhooks/headers.js';
import type { PaymentSigningSecrets } from '../../storage/payments/signing-secrets.js';
import type { Callback } from '../webhooks/callback.js';

export interface AuthenticationCallbackDependencies {
  paymentSigningSecrets: Pick<PaymentSigningSecrets, 'listOpen'>;
  policy: DeliveryPolicy;
}

/** Callbacks of authentications that have ended, sent to their own `webhook_url` and signed with the organisation's secret. */
export function createAuthenticationCallback({
  paymentSigningSecrets,
  policy,
}: AuthenticationCallbackDependencies): Callback {
  return {
    policy,
    async prepare({ _id, org, event_type, message }) {
      if (!message) return { error_code: 'MESSAGE_NOT_FOUND', error_message: 'The message is no longer stored.' };
      const secrets = await paymentSigningSecrets.listOpen(org);
      // Never sent unsigned: the merchant could not tell it from a forgery.
      if (secrets.length === 0)
        return {
          error_code: 'SIGNING_SECRET_NOT_FOUND',
          error_message: 'There is no signing secret.',
          retryable: true,
        };
      const body = Buffer.from(message.body);
      const headers = webhookHeaders({ delivery_id: _id, event: event_type }, body, secrets, new Date());
      return { url: message.url, headers, body };
    },
  };
}
