import { z } from 'zod';

/** States of an authentication. `expired` is never stored: it is read off the clock, so no moment is missed. */
export const AUTHENTICATION_STATES = ['started', 'eligibility_checked', 'closed', 'expired'] as const;
export type AuthenticationStatus = (typeof AUTHENTICATION_STATES)[number];
export type StoredAuthenticationStatus = Exclude<AuthenticationStatus, 'expired'>;

/** The states in which an authentication can still be used; the others are final. */
export const OPEN_AUTHENTICATION_STATES = [
  'started',
  'eligibility_checked',
] as const satisfies readonly AuthenticationStatus[];

/** What the client's SDK does next (specification, "Part B"; `proceed` and `deny` are ours). */
export const SDK_NEXT_ACTIONS = ['await_merchant_callback', 'proceed', 'deny'] as const;
export type SdkNextAction = (typeof SDK_NEXT_ACTIONS)[number];

export interface AuthenticationTimes {
  /** How long an authentication can be used. */
  expiresAfterMs: number;
  /** How long the record stays readable after that. */
  keptForMs: number;
  /** How long the sealed data of an eligibility check stays. */
  deviceDataKeptForMs: number;
}

/** The state at one moment: an open authentication whose time has passed is expired. */
export function statusAt(
  { status, expires_at }: { status: StoredAuthenticationStatus; expires_at: Date },
  now: Date,
): AuthenticationStatus {
  return isOpen(status) && expires_at <= now ? 'expired' : status;
}

function isOpen(status: AuthenticationStatus): boolean {
  return (OPEN_AUTHENTICATION_STATES as readonly string[]).includes(status);
}

/** What a first check finds: a network that says nothing of the consumer does not say that they are present. */
export function eligibilityOf({ click_to_pay }: EligibilityCheckData): SdkNextAction {
  const present = [click_to_pay.network_a, click_to_pay.network_b].some((network) => network?.consumerPresent);
  return present ? 'await_merchant_callback' : 'proceed';
}

/**
 * What the SDK does at this moment.
 * @param found what the first check found, null before it
 * @returns `deny` when the authentication is over, whatever was found before; null while there is no answer
 */
export function nextAction(status: AuthenticationStatus, found: SdkNextAction | null): SdkNextAction | null {
  return isOpen(status) ? found : 'deny';
}

const MAX_METADATA_FIELDS = 50;
/** Long enough for any header a browser sends, short enough that no field can fill a record. */
const text = z.string().max(2048);

/** ICU carries ISO 4217 and is kept up to date with Node. */
const CURRENCIES: ReadonlySet<string> = new Set(Intl.supportedValuesOf('currency'));

/** `POST /authentication`. Unknown fields are let through and not kept. */
export const createAuthenticationSchema = z.object({
  /** In the currency's minor unit. Zero is a check of the card without a charge. */
  amount: z.int().nonnegative(),
  currency: z.string().refine((code) => CURRENCIES.has(code), 'must be an ISO 4217 code in capitals, such as EUR'),
  customer: z
    .object({
      id: z.string().max(255).optional(),
      name: z.string().max(255).optional(),
      email: z.email().max(320).optional(),
      phone: z.string().max(32).optional(),
    })
    .optional(),
  return_url: text.refine(isPlainHttpsUrl, 'must be an https URL without credentials').optional(),
  metadata: z
    .record(z.string().max(40), z.union([z.string().max(500), z.number(), z.boolean()]))
    .refine(
      (fields) => Object.keys(fields).length <= MAX_METADATA_FIELDS,
      `must not exceed ${MAX_METADATA_FIELDS} fields`,
    )
    .optional(),
});
export type CreateAuthentication = z.output<typeof createAuthenticationSchema>;
/** What a merchant tells of the payment beyond amount and currency; sealed at rest. */
export type AuthenticationDetails = Pick<CreateAuthentication, 'customer' | 'return_url' | 'metadata'>;

function isPlainHttpsUrl(value: string): boolean {
  if (!URL.canParse(value)) return false;
  const { protocol, username, password } = new URL(value);
  return protocol === 'https:' && username === '' && password === '';
}

/** The customer's device, as the browser describes it to the first network. */
const customDataSchema = z.object({
  color_depth: z.int().optional(),
  java_enabled: z.boolean().optional(),
  java_script_enabled: z.boolean().optional(),
  language: text.optional(),
  screen_height: z.int().optional(),
  screen_width: z.int().optional(),
  /** Minutes from UTC, so it may be negative. */
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

const networkASchema = z.object({
  consumerPresent: z.boolean().optional(),
  consumerStatus: text.optional(),
  customData: customDataSchema.optional(),
});

const networkBSchema = z.object({
  consumerPresent: z.boolean().optional(),
  idLookupSessionId: text.optional(),
  lastUsedCardTimestamp: text.optional(),
});

/** The fields of the specification, "Part B". None is required there, so none is here but one network. */
const eligibilityCheckDataSchema = z.object({
  click_to_pay: z
    .object({ network_a: networkASchema.optional(), network_b: networkBSchema.optional() })
    .refine(({ network_a, network_b }) => network_a !== undefined || network_b !== undefined, {
      message: 'must have network_a or network_b',
    }),
});
export type EligibilityCheckData = z.output<typeof eligibilityCheckDataSchema>;

/** `POST …/eligibility-check`. Without a `client_secret` the request is not malformed but unproven: 401. */
export const eligibilityCheckSchema = z.object({
  client_secret: z
    .string()
    .default('')
    .meta({ description: 'From the response of `POST /authentication`. A missing or wrong secret is 401.' }),
  eligibility_check_data: eligibilityCheckDataSchema,
});
