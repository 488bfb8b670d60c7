import type { Logger } from 'pino';
import type { DeliveryPolicy } from '../../domain/webhooks/delivery-policy.js';
import { webhookHeaders } from '../../domain/webhooks/headers.js';
import type { DeliveryRecord } from '../../storage/webhooks/deliveries.js';
import type { RegistrationRecord, Registrations } from '../../storage/webhooks/registrations.js';
import type { Callback } from './callback.js';

export interface IndexingCallbackDependencies {
  registrations: Pick<Registrations, 'disable' | 'findForOrg' | 'markFailing' | 'openSecrets'>;
  policy: DeliveryPolicy;
  /** Milliseconds without a successful attempt after which a registration is disabled; null: never. */
  disableAfterMs: number | null;
  log: Pick<Logger, 'warn'>;
}

/** Webhooks of the content service, sent to the organisation's registration and signed with its secret. */
export function createIndexingCallback(deps: IndexingCallbackDependencies): Callback {
  const { registrations, disableAfterMs } = deps;
  return {
    policy: deps.policy,
    async prepare(delivery: DeliveryRecord) {
      const registration = await registrations.findForOrg(delivery.org);
      if (!registration) {
        return { error_code: 'WEBHOOK_NOT_FOUND', error_message: 'No webhook is registered any more.' };
      }
      if (registration.disabled_at) {
        return { error_code: 'WEBHOOK_DISABLED', error_message: 'The webhook was disabled; register it again.' };
      }
      const payload = delivery.payload!;
      const body = Buffer.from(JSON.stringify(payload));
      const now = new Date();
      return {
        url: registration.url,
        headers: webhookHeaders(payload, body, registrations.openSecrets(registration, now), now),
        body,
        attempted: (delivered, now) => trackFailingSince(registration, delivered, now),
      };
    },
  };

  /** Writes only when the receiver starts to fail or recovers, and disables a registration that fails for too long. */
  async function trackFailingSince(registration: RegistrationRecord, delivered: boolean, now: Date): Promise<void> {
    const failingSince = registration.failing_since ?? null;
    if (delivered) {
      if (failingSince !== null) await registrations.markFailing(registration, null);
    } else if (failingSince === null) {
      await registrations.markFailing(registration, now);
    } else if (disableAfterMs !== null && now.getTime() - failingSince.getTime() >= disableAfterMs) {
      const reason = `Every attempt since ${failingSince.toISOString()} has failed.`;
      await registrations.disable(registration, reason, now);
      deps.log.warn({ org: registration._id, reason }, 'webhook disabled');
    }
  }
}
