import type { DeliveryPolicy } from '../../domain/webhooks/delivery-policy.js';
import { CREW_EVENTS, type CrewEvent } from '../../domain/webhooks/events.js';
import { webhookHeaders } from '../../domain/webhooks/headers.js';
import type { CrewSigningSecrets } from '../../storage/crews/signing-secrets.js';
import type { HeaderSealing } from '../../storage/webhooks/static-headers.js';
import type { Callback } from '../webhooks/callback.js';

export interface CrewCallbackDependencies {
  crewSigningSecrets: Pick<CrewSigningSecrets, 'listOpen'>;
  crewHeaders: Pick<HeaderSealing, 'open'>;
}

/**
 * Callbacks of crews, sent to the execution's own receivers and signed with the organisation's secret for crews.
 * @param policy one of many hours: an execution that waits for a person waits for the receiver of that news, too
 */
export function createCrewCallbacks(
  { crewSigningSecrets, crewHeaders }: CrewCallbackDependencies,
  policy: DeliveryPolicy,
): Record<CrewEvent, Callback> {
  const callback: Callback = {
    policy,
    async prepare({ _id, org, doc_id, event_type, message }) {
      if (!message) return { error_code: 'MESSAGE_NOT_FOUND', error_message: 'The message is no longer stored.' };
      const secrets = await crewSigningSecrets.listOpen(org);
      const body = Buffer.from(message.body);
      const headers = webhookHeaders({ delivery_id: _id, event: event_type }, body, secrets, new Date());
      return { url: message.url, headers: { ...crewHeaders.open(doc_id, message.headers), ...headers }, body };
    },
  };
  return Object.fromEntries(CREW_EVENTS.map((event) => [event, callback])) as Record<CrewEvent, Callback>;
}
