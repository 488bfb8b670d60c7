import type { Logger } from 'pino';
import type { DeliveryPolicy } from '../../domain/webhooks/delivery-policy.js';
import { webhookHeaders } from '../../domain/webhooks/headers.js';
import { addFailure, isSustained } from '../../domain/webhooks/registrations.js';
import type { RegistrationRecord, Registrations } from '../../storage/webhooks/registrations.js';
import type { Callback } from './callback.js';
import type { FailureNotices } from './operator-callback.js';

export interface IndexingCallbackDependencies {
  registrations: Pick<Registrations, 'findForOrg' | 'openHeaders' | 'openSecrets' | 'recordFailing'>;
  policy: DeliveryPolicy;
  /** Milliseconds of failed attempts only after which a registration is disabled; null: never. */
  disableAfterMs: number | null;
  notices: Pick<FailureNotices, 'webhookDisabled'>;
  log: Pick<Logger, 'warn'>;
}

/** Webhooks of the content service, sent to the organisation's registration and signed with its secret. */
export function createIndexingCallback(deps: IndexingCallbackDependencies): Callback {
  const { registrations, policy, disableAfterMs } = deps;
  return {
    policy,
    async prepare(delivery) {
      if (delivery.superseded) {
        return { error_code: 'SUPERSEDED', error_message: 'A later version of the item has been announced.' };
      }
      const registration = await registrations.findForOrg(delivery.org);
      if (!registration) {
        return { error_code: 'WEBHOOK_NOT_FOUND', error_message: 'No webhook is registered any more.' };
      }
      if (registration.disabled_at) {
        return { error_code: 'WEBHOOK_DISABLED', error_message: 'The webhook was disabled; register it again.' };
      }
      const payload = delivery.payload!;
      const body = Buffer.from(JSON.stringify(payload));
      const signed = webhookHeaders(payload, body, registrations.openSecrets(registration), new Date());
      return {
        url: registration.url,
        headers: { ...registrations.openHeaders(registration), ...signed },
        body,
        attempted: (delivered, now) => trackFailures(registration, delivered, now),
        receiver: registration,
      };
    },
    /** Reads each registration once, and opens its secrets and headers once. */
    forBatch() {
      const { findForOrg, openSecrets, openHeaders } = registrations;
      const read = { findForOrg: once(findForOrg), openSecrets: once(openSecrets), openHeaders: once(openHeaders) };
      return createIndexingCallback({ ...deps, registrations: { ...registrations, ...read } });
    },
  };

  /** Disables a registration that fails for too long. Writes at most once an hour while it fails. */
  async function trackFailures(registration: RegistrationRecord, delivered: boolean, now: Date): Promise<void> {
    const before = registration.failing ?? null;
    if (delivered) {
      if (before !== null) await registrations.recordFailing(registration, null);
      return;
    }
    const failing = addFailure(before, now, disableAfterMs);
    if (disableAfterMs !== null && isSustained(failing, now, disableAfterMs)) {
      const reason = `Every attempt since ${failing.since.toISOString()} has failed.`;
      // Another attempt has disabled it, or the client has registered again meanwhile.
      if (!(await registrations.recordFailing(registration, failing, { at: now, reason }))) return;
      deps.log.warn({ org: registration._id, reason }, 'webhook disabled');
      await deps.notices.webhookDisabled(registration._id, reason, now);
    } else if (failing !== before) {
      await registrations.recordFailing(registration, failing);
    }
  }
}

/** Calls the function once for each argument. */
function once<Argument, Result>(call: (argument: Argument) => Result): (argument: Argument) => Result {
  const results = new Map<Argument, Result>();
  return (argument) => {
    if (!results.has(argument)) results.set(argument, call(argument));
    return results.get(argument)!;
  };
}
