/** Verifies Postback's callbacks: the signature, the age, then the shape of the payload. No dependencies. */
import {
  constants,
  createHash,
  createHmac,
  createPublicKey,
  type KeyObject,
  timingSafeEqual,
  verify,
} from 'node:crypto';
import type { AuthenticationCallback, CrewCallback, IndexingEvent, JobCallback } from './payloads.js';

export type * from './payloads.js';

export type VerificationFailure =
  /** The request carries no signature, or more than one. */
  | 'missing_signature'
  /** No secret, or no usable RSA public key, was given to verify with. */
  | 'missing_secret'
  /** The signature does not match the body and the secret or key. */
  | 'bad_signature'
  /** The signature matches, but the request was sent too long ago, or in the future: a replay, or a wrong clock. */
  | 'bad_timestamp'
  /** The signature matches, but the body is not the expected payload; or a parsed body was given instead of the raw one. */
  | 'malformed_body';

/** The callback must not be trusted: respond with 401 (or 400 for `malformed_body`) and do nothing else. */
export class WebhookVerificationError extends Error {
  override readonly name = 'WebhookVerificationError';
  readonly code: VerificationFailure;

  constructor(code: VerificationFailure, message: string) {
    super(message);
    this.code = code;
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

export interface VerificationOptions {
  /**
   * How many seconds the time of the attempt may differ from this machine's clock. Default: 300. With `Infinity` requests
   * of any age verify, so they can be replayed; a request that only has `X-Service-Signature` verifies then too.
   */
  toleranceSeconds?: number;
}

const DEFAULT_TOLERANCE_SECONDS = 300;
const SIGNATURE_HEADER = 'x-service-signature';
const ALGORITHM_HEADER = 'x-service-hash-algorithm';
const STANDARD_ID_HEADER = 'webhook-id';
const STANDARD_TIMESTAMP_HEADER = 'webhook-timestamp';
const STANDARD_SIGNATURE_HEADER = 'webhook-signature';
const CREW_EVENTS: readonly CrewCallback['event'][] = [
  'task_completed',
  'task_pending_human_input',
  'step',
  'crew_completed',
  'crew_failed',
];

/**
 * Verifies an indexing webhook and returns its event.
 * @param secret the signing secret. For 24 hours after a rotation the old secret verifies too, so a receiver needs only
 * one of them
 * @throws WebhookVerificationError
 */
export function verifyIndexingWebhook(
  rawBody: RawBody,
  headers: WebhookHeaders,
  secret: SigningSecret,
  options?: VerificationOptions,
): IndexingEvent {
  const body = verifiedBody(rawBody, headers, secret, options);
  return parsePayload<IndexingEvent>(body, ['indexing.status_changed'], 'delivery_id');
}

/**
 * Verifies the callback of a crew and returns it. Without a signing secret for crews (`POST /crews/signing-secret`),
 * callbacks are not signed. Repeats have the same header `webhook-id`.
 * @param secret the organisation's signing secret for crews; see `verifyIndexingWebhook`
 * @throws WebhookVerificationError
 */
export function verifyCrewCallback(
  rawBody: RawBody,
  headers: WebhookHeaders,
  secret: SigningSecret,
  options?: VerificationOptions,
): CrewCallback {
  return parsePayload<CrewCallback>(verifiedBody(rawBody, headers, secret, options), CREW_EVENTS, 'execution_id');
}

/**
 * Verifies the callback of a payment authentication and returns it.
 * @param secret the signing secret of the payments
 * @throws WebhookVerificationError
 */
export function verifyAuthenticationCallback(
  rawBody: RawBody,
  headers: WebhookHeaders,
  secret: SigningSecret,
  options?: VerificationOptions,
): AuthenticationCallback {
  const body = verifiedBody(rawBody, headers, secret, options);
  return parsePayload<AuthenticationCallback>(body, ['authentication.ended'], 'authentication_id');
}

/**
 * Verifies a callback of any service, for receivers of several: one with the header of RSA signatures is a job's, any
 * other is signed with a secret.
 * @throws WebhookVerificationError
 */
export function verifyCallback(
  rawBody: RawBody,
  headers: WebhookHeaders,
  { secret, publicKeyPem }: { secret?: SigningSecret; publicKeyPem?: Parameters<typeof verifyJobCallback>[2] },
  options?: VerificationOptions,
): IndexingEvent | CrewCallback | AuthenticationCallback | JobCallback {
  if (headerValue(headers, ALGORITHM_HEADER) !== undefined) return verifyJobCallback(rawBody, headers, publicKeyPem);
  const body = verifiedBody(rawBody, headers, secret, options);
  const events = ['indexing.status_changed', 'authentication.ended', ...CREW_EVENTS] as const;
  return parsePayload<IndexingEvent | CrewCallback | AuthenticationCallback>(body, events, 'timestamp');
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
  const signature = signatureIn(headers, SIGNATURE_HEADER);
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
function verifiedBody(
  rawBody: RawBody,
  headers: WebhookHeaders,
  secret: SigningSecret,
  { toleranceSeconds = DEFAULT_TOLERANCE_SECONDS }: VerificationOptions = {},
): Buffer {
  const secrets = nonEmpty(secret);
  if (secrets.length === 0) throw new WebhookVerificationError('missing_secret', 'no signing secret is configured');
  // Only the signature of Standard Webhooks covers a time. Accepting the other one alone would let anybody replay a
  // request by leaving these headers out.
  if (toleranceSeconds === Infinity && headerValue(headers, STANDARD_SIGNATURE_HEADER) === undefined) {
    const signature = signatureIn(headers, SIGNATURE_HEADER);
    const body = bytesOf(rawBody);
    requireMatch([signature], secrets, (candidate) => hmacSignature(body, candidate));
    return body;
  }
  const signatures = signatureIn(headers, STANDARD_SIGNATURE_HEADER).split(' ');
  const id = headerValue(headers, STANDARD_ID_HEADER) ?? '';
  const timestamp = headerValue(headers, STANDARD_TIMESTAMP_HEADER) ?? '';
  const body = bytesOf(rawBody);
  requireMatch(signatures, secrets, (candidate) => standardSignature(id, timestamp, body, candidate));
  // Anything that is not a number of seconds fails this comparison.
  if (!/^\d+$/.test(timestamp) || !(Math.abs(Date.now() / 1000 - Number(timestamp)) <= toleranceSeconds)) {
    throw new WebhookVerificationError('bad_timestamp', 'the request was not sent just now, or the clock is wrong');
  }
  return body;
}

/** All signatures are compared with all secrets, so that the time does not show which one matched. */
function requireMatch(signatures: string[], secrets: string[], expected: (secret: string) => string): void {
  const matches = secrets.flatMap((secret) => {
    const wanted = expected(secret);
    return signatures.map((signature) => equalInConstantTime(signature, wanted));
  });
  if (!matches.includes(true)) throw badSignature();
}

/** Drops empty values: an unset variable must never become an empty key. */
function nonEmpty(values: string | readonly (string | undefined)[] | undefined): string[] {
  const list = typeof values === 'string' ? [values] : (values ?? []);
  return list.filter((value): value is string => Boolean(value));
}

const badSignature = () => new WebhookVerificationError('bad_signature', 'the signature does not match the body');

const hmacSignature = (body: Buffer, secret: string) =>
  `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`;

/** The signature of Standard Webhooks 1.0. */
function standardSignature(id: string, timestamp: string, body: Buffer, secret: string): string {
  const hmac = createHmac('sha256', standardKey(secret)).update(`${id}.${timestamp}.`).update(body);
  return `v1,${hmac.digest('base64')}`;
}

/** The HMAC key in a secret: decoded, when it is base64 after an optional `whsec_`; otherwise the secret itself. */
function standardKey(secret: string): Buffer {
  const [, digits] = /^(?:whsec_)?([A-Za-z0-9+/]+)={0,2}$/.exec(secret) ?? [];
  const isBase64 = digits !== undefined && digits.length % 4 !== 1;
  return isBase64 ? Buffer.from(digits, 'base64') : Buffer.from(secret, 'utf8');
}

/** Compares digests of equal length, so that the time shows neither content nor length of the expected text. */
function equalInConstantTime(actual: string, expected: string): boolean {
  const digest = (text: string) => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(actual), digest(expected));
}

function signatureIn(headers: WebhookHeaders, name: string): string {
  const signature = headerValue(headers, name);
  if (!signature) throw new WebhookVerificationError('missing_signature', `the request has no header ${name}`);
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
