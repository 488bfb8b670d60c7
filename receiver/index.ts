/** Verifies Postback's callbacks: first the signature, then the shape of the payload. No dependencies. */
import {
  constants,
  createHash,
  createHmac,
  createPublicKey,
  type KeyObject,
  timingSafeEqual,
  verify,
} from 'node:crypto';
import type { CrewCallback, IndexingEvent, JobCallback } from './payloads.js';

export type * from './payloads.js';

export type VerificationFailure =
  /** The request carries no signature, or more than one. */
  | 'missing_signature'
  /** No secret, or no usable RSA public key, was given to verify with. */
  | 'missing_secret'
  /** The signature does not match the body and the secret or key. */
  | 'bad_signature'
  /** The signature matches, but the body is not the expected payload; or a parsed body was given instead of the raw one. */
  | 'malformed_body';

/** The callback must not be trusted: respond with 401 (or 400 for `malformed_body`) and do nothing else. */
export class WebhookVerificationError extends Error {
  override readonly name = 'WebhookVerificationError';

  constructor(
    readonly code: VerificationFailure,
    message: string,
  ) {
    super(message);
  }
}

/** The body exactly as received. A body that was parsed and serialized again has other bytes and does not verify. */
export type RawBody = Uint8Array | string;

/** A fetch `Headers`, Node's `request.headers`, or a plain object. Header names are case-insensitive. */
export type WebhookHeaders =
  | { get(name: string): string | null }
  | Record<string, string | readonly string[] | undefined>;

/** A secret, or several during a rotation. Undefined and empty values are ignored. */
export type SigningSecret = string | readonly (string | undefined)[] | undefined;

const SIGNATURE_HEADER = 'x-service-signature';
const ALGORITHM_HEADER = 'x-service-hash-algorithm';
const CREW_EVENTS: readonly CrewCallback['event'][] = [
  'task_completed',
  'task_pending_human_input',
  'step',
  'crew_completed',
  'crew_failed',
];

/**
 * Verifies an indexing webhook and returns its event.
 * @param secret the signing secret; during a rotation, the old and the new secret
 * @throws WebhookVerificationError
 */
export function verifyIndexingWebhook(rawBody: RawBody, headers: WebhookHeaders, secret: SigningSecret): IndexingEvent {
  const body = verifiedBody(rawBody, headers, secret);
  return parsePayload<IndexingEvent>(body, ['indexing.status_changed'], 'delivery_id');
}

/**
 * Verifies the callback of a crew and returns it. Crews sign with the secret of the organisation's indexing webhook;
 * without such a secret, callbacks are not signed. Repeats have the same header `X-Service-Delivery-ID`.
 * @param secret the signing secret; during a rotation, the old and the new secret
 * @throws WebhookVerificationError
 */
export function verifyCrewCallback(rawBody: RawBody, headers: WebhookHeaders, secret: SigningSecret): CrewCallback {
  return parsePayload<CrewCallback>(verifiedBody(rawBody, headers, secret), CREW_EVENTS, 'execution_id');
}

/**
 * Verifies the callback of an AI job and returns it. The body is the canonical JSON that was signed, so it is verified as
 * received.
 * @param publicKeyPem the service's public keys (RSA, PEM): the response of `GET /v3/ai/webhook-public-key`, which has
 * several keys during a rotation, or a list of such responses
 * @throws WebhookVerificationError
 */
export function verifyJobCallback(
  rawBody: RawBody,
  headers: WebhookHeaders,
  publicKeyPem: string | readonly (string | undefined)[] | undefined,
): JobCallback {
  const keys = nonEmpty(publicKeyPem).flatMap(pemBlocks).map(rsaPublicKey);
  if (keys.length === 0) throw new WebhookVerificationError('missing_secret', 'no public key is configured');
  const signature = signatureIn(headers);
  const body = bytesOf(rawBody);
  const algorithm = headerValue(headers, ALGORITHM_HEADER);
  if (algorithm !== undefined && algorithm.toUpperCase() !== 'SHA256') throw badSignature();
  if (!/^([0-9a-f]{2})+$/i.test(signature)) throw badSignature();
  const signed = Buffer.from(createHash('sha256').update(body).digest('hex'), 'utf8');
  const signatureBytes = Buffer.from(signature, 'hex');
  const isSignedBy = (key: KeyObject) =>
    verify('sha256', signed, { key, padding: constants.RSA_PKCS1_PADDING }, signatureBytes);
  if (!keys.some(isSignedBy)) throw badSignature();
  return parsePayload<JobCallback>(body, ['async_job_completed'], 'job_id');
}

/** Verifies a callback that is signed with HMAC. @returns its body */
function verifiedBody(rawBody: RawBody, headers: WebhookHeaders, secret: SigningSecret): Buffer {
  const secrets = nonEmpty(secret);
  if (secrets.length === 0) throw new WebhookVerificationError('missing_secret', 'no signing secret is configured');
  const signature = signatureIn(headers);
  const body = bytesOf(rawBody);
  // All secrets are tried, so that the time does not show which one matched.
  const matches = secrets.map((candidate) => equalInConstantTime(signature, hmacSignature(body, candidate)));
  if (!matches.includes(true)) throw badSignature();
  return body;
}

/** Drops empty values: an unset variable must never become an empty key. */
function nonEmpty(values: string | readonly (string | undefined)[] | undefined): string[] {
  const list = typeof values === 'string' ? [values] : (values ?? []);
  return list.filter((value): value is string => Boolean(value));
}

const badSignature = () => new WebhookVerificationError('bad_signature', 'the signature does not match the body');

const hmacSignature = (body: Buffer, secret: string) =>
  `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`;

/** Compares digests of equal length, so that the time shows neither content nor length of the expected text. */
function equalInConstantTime(actual: string, expected: string): boolean {
  const digest = (text: string) => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(actual), digest(expected));
}

function signatureIn(headers: WebhookHeaders): string {
  const signature = headerValue(headers, SIGNATURE_HEADER);
  if (!signature)
    throw new WebhookVerificationError('missing_signature', 'the request has no X-Service-Signature header');
  return signature;
}

function headerValue(headers: WebhookHeaders, name: string): string | undefined {
  if (typeof headers.get === 'function') return headers.get(name) ?? undefined;
  const values = Object.entries(headers).flatMap(([key, value]) => (key.toLowerCase() === name ? (value ?? []) : []));
  if (values.length > 1)
    throw new WebhookVerificationError('missing_signature', `the request has more than one ${name} header`);
  return values[0] as string | undefined;
}

function bytesOf(rawBody: RawBody): Buffer {
  if (typeof rawBody === 'string') return Buffer.from(rawBody, 'utf8');
  if (ArrayBuffer.isView(rawBody)) return Buffer.from(rawBody.buffer, rawBody.byteOffset, rawBody.byteLength);
  throw new WebhookVerificationError('malformed_body', 'pass the raw body as received, not the parsed body');
}

/** The keys of a PEM text. A text without any is returned as it is, and rejected later. */
function pemBlocks(pem: string): string[] {
  return pem.match(/-----BEGIN [^-]+-----[\s\S]*?-----END [^-]+-----/g) ?? [pem];
}

function rsaPublicKey(pem: string): KeyObject {
  const unusable = () =>
    new WebhookVerificationError('missing_secret', 'the public key is not an RSA public key in PEM form');
  try {
    const key = createPublicKey(pem);
    if (key.asymmetricKeyType === 'rsa') return key;
  } catch {
    throw unusable();
  }
  throw unusable();
}

function parsePayload<T extends { event: string }>(
  body: Buffer,
  events: readonly T['event'][],
  idField: keyof T & string,
): T {
  const malformed = (reason: string) => new WebhookVerificationError('malformed_body', reason);
  let parsed: Record<string, unknown> | null;
  try {
    parsed = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(body));
  } catch {
    throw malformed('the body is not JSON');
  }
  if (!events.includes(parsed?.event as T['event'])) throw malformed(`the event is not ${events.join(' or ')}`);
  if (typeof parsed![idField] !== 'string') throw malformed(`${idField} is missing`);
  return parsed as unknown as T;
}
