import type { DeliveryPolicy } from '../../domain/webhooks/delivery-policy.js';
import { CREW_EVENTS, type CrewEvent } from '../../domain/webhooks/events.js';
import { webhookHeaders } from '../../domain/webhooks/headers.js';
import type { OrganisationSecrets } from '../../storage/webhooks/signing-secrets.js';
import type { HeaderSealing } from '../../storage/webhooks/static-headers.js';
import type { Callback } from './callback.js';

export interface MessageCallbackOptions {
  /** For crews one of many hours: an execution that waits for a person waits for the receiver of that news, too. */
  policy: DeliveryPolicy;
  secrets: Pick<OrganisationSecrets, 'listOpen'>;
  /** Of receivers that have static headers. */
  headers?: Pick<HeaderSealing, 'open'>;
  /** Whether a message is never sent unsigned: a merchant could not tell it from a forgery. */
  alwaysSigned?: boolean;
}

/** Callbacks whose message was stored with their delivery (crews, payments), signed with the organisation's secrets. */
export function createMessageCallback({ policy, secrets, headers, alwaysSigned }: MessageCallbackOptions): Callback {
  return {
    policy,
    async prepare({ _id, org, doc_id, event_type, message }) {
      if (!message) return { error_code: 'MESSAGE_NOT_FOUND', error_message: 'The message is no longer stored.' };
      const open = await secrets.listOpen(org);
      if (alwaysSigned && open.length === 0)
        return {
          error_code: 'SIGNING_SECRET_NOT_FOUND',
          error_message: 'There is no signing secret.',
          retryable: true,
        };
      const body = Buffer.from(message.body);
      const own = headers?.open(doc_id, message.headers);
      const signed = webhookHeaders({ delivery_id: _id, event: event_type }, body, open, new Date());
      return { url: message.url, headers: { ...own, ...signed }, body };
    },
  };
}

/** @returns the callback for each event of crews */
export function forCrewEvents(callback: Callback): Record<CrewEvent, Callback> {
  return Object.fromEntries(CREW_EVENTS.map((event) => [event, callback])) as Record<CrewEvent, Callback>;
}
