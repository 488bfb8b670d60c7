import { z } from 'zod';
import { jobCallback } from '../domain/ai-jobs/job-payload.js';
import { AUTHENTICATION_ENDED } from '../domain/webhooks/events.js';
import { webhookHeaders } from '../domain/webhooks/headers.js';
import type { DeliveryRecord } from '../storage/webhooks/deliveries.js';
import type { Dependencies } from './dependencies.js';

export const sentRequestSchema = z
  .object({
    url: z.string(),
    headers: z
      .record(z.string(), z.string())
      .meta({ description: 'With the names of static headers, whose values are not shown.' }),
    body: z.string().meta({ description: 'Exactly the bytes that are signed, in UTF-8.' }),
  })
  .meta({ id: 'SentRequest' });

export type SentRequest = z.infer<typeof sentRequestSchema>;

/** In place of the values of static headers, which are credentials. */
const HIDDEN = '(not shown)';

/** A request as clients see it. @param staticNames the names of its static headers */
export function showRequest(
  url: string,
  headers: Record<string, string>,
  body: Buffer,
  staticNames: readonly string[] = [],
): SentRequest {
  const hidden = Object.fromEntries(staticNames.map((name) => [name, HIDDEN]));
  return { url, headers: { ...hidden, ...headers }, body: body.toString('utf8') };
}

/** @returns the request of the last attempt at a delivery; null before it, and when its content or its key is no longer stored */
export type ShowLastRequest = (delivery: DeliveryRecord) => Promise<SentRequest | null>;

/**
 * Builds the last request of a delivery anew, signed for the time of its attempt: signatures are not stored. After a rotation
 * it is signed with the new secret, so that it can be verified with the secret that the client has now.
 */
export function createShowLastRequest(
  deps: Pick<Dependencies, 'aiJobs' | 'crewSigningSecrets' | 'paymentSigningSecrets' | 'registrations' | 'signingKeys'>,
): ShowLastRequest {
  return async (delivery) => {
    const { _id, event_type, url } = delivery;
    const at = delivery.attempt_log.at(-1)?.at;
    if (!at || url === null) return null;
    if (event_type === 'async_job_completed') return ofJob(delivery, url, at);
    const content = await contentOf(delivery);
    if (!content) return null;
    const body = Buffer.from(content.text);
    const headers = webhookHeaders({ delivery_id: _id, event: event_type }, body, content.secrets, at);
    return showRequest(url, headers, body, content.headers?.names);
  };

  /** The text, and the secrets and static headers of its receiver. Of a crew or an authentication, the text is stored as it is sent. */
  async function contentOf({ org, event_type, payload, message }: DeliveryRecord) {
    if (event_type === 'indexing.status_changed') {
      const registration = await deps.registrations.findForOrg(org);
      const secrets = registration ? deps.registrations.openSecrets(registration) : [];
      return { text: JSON.stringify(payload), secrets, headers: registration?.headers };
    }
    if (!message) return null;
    const secrets = event_type === AUTHENTICATION_ENDED ? deps.paymentSigningSecrets : deps.crewSigningSecrets;
    return { text: message.body, secrets: await secrets.listOpen(org), headers: message.headers };
  }

  async function ofJob({ _id, org, doc_id }: DeliveryRecord, url: string, now: Date) {
    const job = await deps.aiJobs.getById(org, doc_id);
    if (!job?.signing_key) return null;
    const result = await deps.aiJobs.getResult(org, doc_id);
    const privateKey = await deps.signingKeys.openPrivateKey(org, job.signing_key);
    const { headers, body } = jobCallback(_id, job, result, job.signing_key, privateKey, now);
    return showRequest(url, headers, body, job.headers?.names);
  }
}
