import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { z } from 'zod';
import { sha256Hex } from '../ids.js';
import { isFinalState } from '../state-machine.js';
import { AUTHENTICATION_STATE_TABLE, type AuthenticationStatus } from './states.js';

/** What the client's SDK does next (specification, "Part B"; `proceed` and `deny` are ours). */
export const SDK_NEXT_ACTIONS = ['await_merchant_callback', 'proceed', 'deny'] as const;
export type SdkNextAction = (typeof SDK_NEXT_ACTIONS)[number];

export interface AuthenticationTimes {
  /** How long an authentication is open. */
  expiresAfterMs: number;
  /** How long the record is kept after the authentication has expired. */
  keptForMs: number;
  /** How long the sealed data of an eligibility check is kept. */
  deviceDataKeptForMs: number;
}

/** Whether a text has the form of an authentication's id, so that nothing is read or counted for any other text. */
export function isAuthenticationId(text: string): boolean {
  return /^auth_[0-9a-hjkmnp-tv-z]{26}$/.test(text);
}

/**
 * @returns the state at a time: an open authentication is expired after `expires_at`, before a workflow has stored it
 */
export function statusAt(
  { status, expires_at }: { status: AuthenticationStatus; expires_at: Date },
  now: Date,
): AuthenticationStatus {
  return !isFinalState(AUTHENTICATION_STATE_TABLE, status) && expires_at <= now ? 'expired' : status;
}

/**
 * The SDK's next action.
 * @param found result of the first check, or null before it
 * @returns `deny` when the authentication is closed or expired, regardless of the check; null before the check
 */
export function nextAction(status: AuthenticationStatus, found: SdkNextAction | null): SdkNextAction | null {
  return isFinalState(AUTHENTICATION_STATE_TABLE, status) ? 'deny' : found;
}

const MAX_METADATA_FIELDS = 50;
/** Long enough for every header of a browser, and short enough that no field can fill a record. */
const text = z.string().max(2048);

/** For the document: the https URLs that every tool accepts, with a name as their host. The check accepts others too. */
const HTTPS_URL =
  '^https://[A-Za-z0-9]+(-[A-Za-z0-9]+)*([.][A-Za-z0-9]+(-[A-Za-z0-9]+)*)*[.][A-Za-z]{2,63}(/[A-Za-z0-9._~/-]*)?([?][A-Za-z0-9._~&=-]*)?$';

/** ISO 4217 codes, from the ICU data of Node. */
const CURRENCIES = Intl.supportedValuesOf('currency');

/** The body of `POST /authentication`. */
export const createAuthenticationSchema = z.object({
  /** In the currency's minor unit. Zero checks the card without a charge. */
  amount: z.int().nonnegative(),
  currency: z.enum(CURRENCIES, { error: 'must be an ISO 4217 code in capitals, such as EUR' }),
  customer: z
    .object({
      id: z.string().max(255).optional(),
      name: z.string().max(255).optional(),
      // As browsers check e-mail fields; the part before the @ has at most 64 characters (RFC 5321).
      email: z
        .email({ pattern: z.regexes.html5Email })
        .max(320)
        .refine((address) => address.indexOf('@') <= 64, 'must have at most 64 characters before the @')
        .optional(),
      phone: z.string().max(32).optional(),
    })
    .optional(),
  return_url: text
    .refine(isPlainHttpsUrl, 'must be an https URL without credentials')
    .meta({ pattern: HTTPS_URL })
    .optional(),
  webhook_url: text
    .optional()
    .meta({ format: 'uri', description: 'An https URL, which gets a callback when the authentication has ended.' }),
  metadata: z
    .record(z.string().max(40), z.union([z.string().max(500), z.number(), z.boolean()]))
    .refine(
      (fields) => Object.keys(fields).length <= MAX_METADATA_FIELDS,
      `must not exceed ${MAX_METADATA_FIELDS} fields`,
    )
    .meta({ maxProperties: MAX_METADATA_FIELDS })
    .optional(),
});
export type CreateAuthentication = z.output<typeof createAuthenticationSchema>;
/** The details of a payment besides amount and currency; stored sealed. */
export type AuthenticationDetails = Pick<CreateAuthentication, 'customer' | 'return_url' | 'metadata'>;

function isPlainHttpsUrl(value: string): boolean {
  if (!URL.canParse(value)) return false;
  const { protocol, username, password } = new URL(value);
  return protocol === 'https:' && username === '' && password === '';
}

/** An object that the SDK of a network writes: it may have other fields, which are not stored. */
function openObject<Shape extends z.ZodRawShape>(shape: Shape) {
  const known = z.object(shape);
  return z.looseObject(shape).transform((value) => known.parse(value));
}

/** The customer's device, as the browser reports it to the first network. */
const customDataSchema = openObject({
  color_depth: z.int().optional(),
  java_enabled: z.boolean().optional(),
  java_script_enabled: z.boolean().optional(),
  language: text.optional(),
  screen_height: z.int().optional(),
  screen_width: z.int().optional(),
  /** Minutes from UTC; may be negative. */
  time_zone: z.int().optional(),
  ip_address: text.optional(),
  accept_header: text.optional(),
  user_agent: text.optional(),
  os_type: text.optional(),
  os_version: text.optional(),
  device_model: text.optional(),
  accept_language: text.optional(),
  referer: text.optional(),
});

const networkASchema = openObject({
  consumerPresent: z.boolean().optional(),
  consumerStatus: text.optional(),
  customData: customDataSchema.optional(),
});

const networkBSchema = openObject({
  consumerPresent: z.boolean().optional(),
  idLookupSessionId: text.optional(),
  lastUsedCardTimestamp: text.optional(),
});

/** The fields of the specification, "Part B". Only one of the networks is required. */
const eligibilityCheckDataSchema = z.object({
  click_to_pay: z
    .object({ network_a: networkASchema.optional(), network_b: networkBSchema.optional() })
    .refine(({ network_a, network_b }) => network_a !== undefined || network_b !== undefined, {
      message: 'must have network_a or network_b',
    })
    .meta({ anyOf: [{ required: ['network_a'] }, { required: ['network_b'] }] }),
});
export type EligibilityCheckData = z.output<typeof eligibilityCheckDataSchema>;

/** The body of `POST …/eligibility-check`. A missing `client_secret` is an authentication error (401), not a validation error. */
export const eligibilityCheckSchema = z.object({
  client_secret: z
    .string()
    .default('')
    .meta({ description: 'From the response of `POST /authentication`. A missing or wrong secret is 401.' }),
  eligibility_check_data: eligibilityCheckDataSchema,
});

/** Compared with when the authentication is unknown, so that the check takes the same time. */
const NO_HASH = '0'.repeat(64);

/** @returns a secret with 256 random bits for one authentication. Only its SHA-256 may be stored */
export function newClientSecret(authenticationId: string): string {
  return `${authenticationId}_secret_${randomBytes(32).toString('base64url')}`;
}

/** @param hash SHA-256 of the secret in hex, or undefined when the authentication is unknown. Takes the same time in both cases */
export function isClientSecret(given: string, hash: string | undefined): boolean {
  const equal = timingSafeEqual(Buffer.from(sha256Hex(given), 'hex'), Buffer.from(hash ?? NO_HASH, 'hex'));
  return equal && hash !== undefined;
}

/**
 * Identifies an eligibility check, also after its data was removed. The key is the client secret, which is not stored, so
 * that readers of the database cannot guess the device.
 * @param data as parsed by the schema, with fields in the schema's order
 * @returns HMAC-SHA256 in hex
 */
export function checkFingerprint(clientSecret: string, data: EligibilityCheckData): string {
  return createHmac('sha256', clientSecret).update(JSON.stringify(data)).digest('hex');
}
