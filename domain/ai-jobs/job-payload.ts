/** What clients see of an AI job: when they poll it, and in its callback with signature and headers. */
import { createHash, type KeyObject, sign } from 'node:crypto';
import { canonicalJson, canonicalObject } from '../canonical-json.js';
import type { JobStatus } from './states.js';
import type { CANCELLED } from './workflow-contract.js';

/** The fields of a job that clients see. */
export interface DescribedJob {
  /** UUID. */
  _id: string;
  status: JobStatus;
  feature: string;
  subfeature: string;
  provider: string;
  model: string | null;
  /** What people recognise a job by: the name of the file, or the beginning of the text. */
  subject?: string | undefined;
  created_at: Date;
  finished_at: Date | null;
  error_code: typeof CANCELLED | null;
  error_message: string | null;
  show_original_response: boolean;
  /** Canonical JSON, with the numbers as the client wrote them. */
  user_parameters: string | null;
}

/** The result of a job, as canonical JSON. */
export interface AiJobResult {
  output: string;
  original: string | null;
}

/**
 * The payload of a job's callback without `event` (specification, "Callback payload"). Before the job finishes, the fields
 * of its outcome are absent. The specification gives `error` a message and nothing else; `describePolledJob` adds the code.
 * @returns the members, each as canonical JSON
 */
export function describeJob(job: DescribedJob, result: AiJobResult | null): { [name: string]: string } {
  const { output, original } = result ?? { output: null, original: null };
  const members: { [name: string]: string | null } = {
    job_id: canonicalJson(job._id),
    status: canonicalJson(job.status),
    feature: canonicalJson(job.feature),
    subfeature: canonicalJson(job.subfeature),
    provider: canonicalJson(job.provider),
    model: canonicalJson(job.model),
    created_at: canonicalJson(job.created_at.toISOString()),
    finished_at: job.finished_at && canonicalJson(job.finished_at.toISOString()),
    output: job.status === 'success' ? output : null,
    error: job.status === 'fail' ? canonicalJson({ message: messageOf(job) }) : null,
    original_response: job.status === 'success' && job.show_original_response ? original : null,
    user_parameters: job.user_parameters,
  };
  return Object.fromEntries(Object.entries(members).filter((entry): entry is [string, string] => entry[1] !== null));
}

/**
 * The job as its client polls it: the payload, the subject, the workflow, and in `error` also the code, where the job has one.
 * @param workflow the id of the workflow that runs it
 */
export function describePolledJob(
  job: DescribedJob,
  workflow: string,
  result: AiJobResult | null,
): { [name: string]: string } {
  const subject = canonicalJson(job.subject ?? null);
  const members = { ...describeJob(job, result), subject, workflow: canonicalJson(workflow) };
  if (job.status !== 'fail' || job.error_code === null) return members;
  return { ...members, error: canonicalJson({ code: job.error_code, message: messageOf(job) }) };
}

const messageOf = ({ error_message }: DescribedJob): string => error_message ?? 'The job failed.';

/**
 * The signature of an AI job's callback (specification, "Callback signature"): RSA PKCS#1 v1.5 with SHA-256 over the
 * hex SHA-256 of the body, in hex.
 * @param body the bytes that are sent
 * @returns the value of `X-Service-Signature`
 */
export function jobCallbackSignature(body: Uint8Array, privateKey: KeyObject): string {
  const digest = createHash('sha256').update(body).digest('hex');
  return sign('sha256', Buffer.from(digest, 'utf8'), privateKey).toString('hex');
}

/**
 * One attempt to send an AI job's callback. Its headers are those of the specification ("Endpoints"), and the id and the time
 * of Standard Webhooks 1.0, whose signature is another.
 * @param signing_key id of the RSA key that signs, which `GET /v3/ai/webhook-public-key` takes: after a rotation, callbacks of
 * earlier jobs are signed with an earlier key
 * @returns the body in the form in which it is signed and sent
 */
export function jobCallback(
  delivery_id: string,
  job: DescribedJob,
  result: AiJobResult | null,
  signing_key: string,
  privateKey: KeyObject,
  now: Date,
): { headers: Record<string, string>; body: Buffer } {
  const body = Buffer.from(canonicalObject({ event: '"async_job_completed"', ...describeJob(job, result) }), 'utf8');
  const headers = {
    'webhook-id': delivery_id,
    'webhook-timestamp': String(Math.floor(now.getTime() / 1000)),
    'X-Service-Key-Id': signing_key,
    'Content-Type': 'application/json',
    'User-Agent': 'Postback-Webhook/1.0',
    'X-Service-Webhook': 'true',
    'X-Service-Signature': jobCallbackSignature(body, privateKey),
    'X-Service-Hash-Algorithm': 'SHA256',
  };
  return { headers, body };
}
