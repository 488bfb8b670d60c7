import { CALLBACK_DELIVERY_POLICY } from '../../domain/webhooks/delivery-policy.js';
import { CREW_EVENTS, type CrewEvent } from '../../domain/webhooks/events.js';
import { webhookHeaders } from '../../domain/webhooks/headers.js';
import type { Registrations } from '../../storage/webhooks/registrations.js';
import type { Callback } from '../webhooks/callback.js';

/** Callbacks of crews, sent to the execution's own receivers and signed with the organisation's webhook secret. */
export function createCrewCallbacks({
  registrations,
}: {
  registrations: Pick<Registrations, 'findForOrg' | 'openSecret'>;
}): Record<CrewEvent, Callback> {
  const callback: Callback = {
    policy: CALLBACK_DELIVERY_POLICY,
    async prepare({ _id, org, event_type, message }) {
      if (!message) return { error_code: 'MESSAGE_NOT_FOUND', error_message: 'The message is no longer stored.' };
      const registration = await registrations.findForOrg(org);
      const secret = registration && registrations.openSecret(registration);
      const body = Buffer.from(message.body);
      return { url: message.url, headers: webhookHeaders({ delivery_id: _id, event: event_type }, body, secret), body };
    },
  };
  return Object.fromEntries(CREW_EVENTS.map((event) => [event, callback])) as Record<CrewEvent, Callback>;
}
