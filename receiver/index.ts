/** Verification of Postback's callbacks: the signature first, then the typed payload. No dependencies. */
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
  /** The receiver has no secret, or no usable RSA public key, to verify with. */
  | 'missing_secret'
  /** The signature was not made with the secret or key over exactly these bytes. */
  | 'bad_signature'
  /** The signature is right, but the body is not the payload that was expected; or the body given is not the raw one. */
  | 'malformed_body';

/** The callback must not be trusted; answer 401 (or 400 for `malformed_body`) and do nothing else. */
export class WebhookVerificationError extends Error {
  override readonly name = 'WebhookVerificationError';

  constructor(
    readonly code: VerificationFailure,
    message: string,
  ) {
    super(message);
  }
}

/** The body exactly as received. A parsed and serialised one has other bytes and does not verify. */
export type RawBody = Uint8Array | string;

/** A fetch `Headers`, Node's `request.headers`, or a plain object; names in any case. */
export type WebhookHeaders =
  | { get(name: string): string | null }
  | Record<string, string | readonly string[] | undefined>;

/** One that is not set is left out. */
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
 * @param secret the signing secret, or the old and the new one while they change
 * @throws WebhookVerificationError
 */
export function verifyIndexingWebhook(rawBody: RawBody, headers: WebhookHeaders, secret: SigningSecret): IndexingEvent {
  const body = verifiedBody(rawBody, headers, secret);
  return payload<IndexingEvent>(body, ['indexing.status_changed'], 'delivery_id');
}

/**
 * Verifies a callback of a crew and returns it. Crews sign with the secret of the organisation's indexing webhook, and
 * only once there is one. What tells a repeat is the header `X-Service-Delivery-ID`.
 * @param secret the signing secret, or the old and the new one while they change
 * @throws WebhookVerificationError
 */
export function verifyCrewCallback(rawBody: RawBody, headers: WebhookHeaders, secret: SigningSecret): CrewCallback {
  return payload<CrewCallback>(verifiedBody(rawBody, headers, secret), CREW_EVENTS, 'execution_id');
}

/**
 * Verifies the callback of an AI job and returns it. The body is sent as the canonical JSON that was signed, so it is
 * verified as received, without building it again.
 * @param publicKeyPem the service's webhook public key (RSA, PEM): the answer of `GET /v3/ai/webhook-public-key`, which may
 * hold several keys while they change, or a list of such texts
 * @throws WebhookVerificationError
 */
export function verifyJobCallback(
  rawBody: RawBody,
  headers: WebhookHeaders,
  publicKeyPem: string | readonly (string | undefined)[] | undefined,
): JobCallback {
  const keys = given(publicKeyPem).flatMap(pemBlocks).map(rsaPublicKey);
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
  return payload<JobCallback>(body, ['async_job_completed'], 'job_id');
}

/** The body of a callback that is signed by HMAC. */
function verifiedBody(rawBody: RawBody, headers: WebhookHeaders, secret: SigningSecret): Buffer {
  const secrets = given(secret);
  if (secrets.length === 0) throw new WebhookVerificationError('missing_secret', 'no signing secret is configured');
  const signature = signatureIn(headers);
  const body = bytesOf(rawBody);
  // Every secret is tried, so that the time taken does not tell which one matched.
  const matches = secrets.map((one) => sameText(signature, hmacSignature(body, one)));
  if (!matches.includes(true)) throw badSignature();
  return body;
}

/** Without the empty ones: an unset variable must never become a key of no characters. */
function given(values: string | readonly (string | undefined)[] | undefined): string[] {
  const list = typeof values === 'string' ? [values] : (values ?? []);
  return list.filter((value): value is string => Boolean(value));
}

const badSignature = () => new WebhookVerificationError('bad_signature', 'the signature does not match the body');

const hmacSignature = (body: Buffer, secret: string) =>
  `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`;

/** Compares digests, whose lengths are equal: neither the content nor the length of the right answer shows in the time. */
function sameText(given: string, expected: string): boolean {
  const digest = (text: string) => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(given), digest(expected));
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
  throw new WebhookVerificationError('malformed_body', 'pass the raw body as received, not the parsed one');
}

/** Each key of a PEM text; a text without any is left to be refused. */
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

function payload<T extends { event: string }>(
  body: Buffer,
  events: readonly T['event'][],
  idField: keyof T & string,
): T {
  const malformed = (why: string) => new WebhookVerificationError('malformed_body', why);
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
