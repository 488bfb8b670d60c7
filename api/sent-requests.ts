import { z } from 'zod';
import {
  describeJob,
  jobCallbackBody,
  jobCallbackHeaders,
  jobCallbackSignature,
} from '../domain/ai-jobs/job-payload.js';
import { AUTHENTICATION_ENDED } from '../domain/webhooks/events.js';
import { webhookHeaders } from '../domain/webhooks/headers.js';
import type { AiJobs } from '../storage/ai-jobs/jobs.js';
import type { SigningKeys } from '../storage/ai-jobs/signing-keys.js';
import type { DeliveryRecord } from '../storage/webhooks/deliveries.js';
import type { Registrations } from '../storage/webhooks/registrations.js';
import type { OrganisationSecrets } from '../storage/webhooks/signing-secrets.js';

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

export interface LastRequestDependencies {
  registrations: Pick<Registrations, 'findForOrg' | 'openSecrets'>;
  crewSigningSecrets: Pick<OrganisationSecrets, 'listOpen'>;
  paymentSigningSecrets: Pick<OrganisationSecrets, 'listOpen'>;
  aiJobs: Pick<AiJobs, 'getById' | 'getResult'>;
  signingKeys: Pick<SigningKeys, 'openPrivateKey'>;
}

/**
 * Builds the last request of a delivery anew, signed for the time of its attempt: signatures are not stored. After a rotation
 * it is signed with the new secret, so that it can be verified with the secret that the client has now.
 */
export function createShowLastRequest(deps: LastRequestDependencies): ShowLastRequest {
  return async (delivery) => {
    const at = delivery.attempt_log.at(-1)?.at;
    if (!at || delivery.url === null) return null;
    if (delivery.event_type === 'async_job_completed') return ofJob(delivery, delivery.url, at);
    if (delivery.event_type === 'indexing.status_changed') return ofItem(delivery, delivery.url, at);
    const secrets = delivery.event_type === AUTHENTICATION_ENDED ? deps.paymentSigningSecrets : deps.crewSigningSecrets;
    return ofMessage(delivery, delivery.url, secrets, at);
  };

  async function ofItem({ _id, org, event_type, payload }: DeliveryRecord, url: string, at: Date) {
    const registration = await deps.registrations.findForOrg(org);
    const secrets = registration ? deps.registrations.openSecrets(registration) : [];
    const body = Buffer.from(JSON.stringify(payload));
    const headers = webhookHeaders({ delivery_id: _id, event: event_type }, body, secrets, at);
    return showRequest(url, headers, body, registration?.headers?.names);
  }

  /** Of a crew or an authentication: the body is stored as it is sent. */
  async function ofMessage(
    { _id, org, event_type, message }: DeliveryRecord,
    url: string,
    signingSecrets: Pick<OrganisationSecrets, 'listOpen'>,
    at: Date,
  ) {
    if (!message) return null;
    const secrets = await signingSecrets.listOpen(org);
    const body = Buffer.from(message.body);
    const headers = webhookHeaders({ delivery_id: _id, event: event_type }, body, secrets, at);
    return showRequest(url, headers, body, message.headers?.names);
  }

  async function ofJob({ _id, org, doc_id }: DeliveryRecord, url: string, now: Date) {
    const job = await deps.aiJobs.getById(org, doc_id);
    if (!job?.signing_key) return null;
    const result = await deps.aiJobs.getResult(org, doc_id);
    const body = jobCallbackBody(describeJob(job, result));
    const signature = jobCallbackSignature(body, await deps.signingKeys.openPrivateKey(org, job.signing_key));
    const headers = jobCallbackHeaders({ delivery_id: _id, signature, key: job.signing_key, now });
    return showRequest(url, headers, body, job.headers?.names);
  }
}
