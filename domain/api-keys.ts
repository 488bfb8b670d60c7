import { randomBytes } from 'node:crypto';
import { z } from 'zod';
import { DAY_MS } from './webhooks/delivery-policy.js';

/** Kinds of API key. Each gives access to one service, or a part of it, for one organisation. */
export const KEY_KINDS = ['api', 'crew_org', 'crew_user', 'payment_secret', 'payment_publishable'] as const;
export type KeyKind = (typeof KEY_KINDS)[number];

/** What a key may do: read, change state, and manage secrets. No scope includes another. */
export const SCOPES = ['read', 'write', 'admin'] as const;
export type Scope = (typeof SCOPES)[number];

/** Prefixes, by which people and secret scanners recognise a key. */
const PREFIX: Record<KeyKind, string> = {
  api: 'pbk_api_',
  crew_org: 'pbk_crew_',
  crew_user: 'pbk_crewuser_',
  payment_secret: 'pbk_sk_',
  payment_publishable: 'pbk_pk_',
};

/** @returns a new key with 256 random bits. Only its SHA-256 may be stored */
export function newApiKey(kind: KeyKind): string {
  return PREFIX[kind] + randomBytes(32).toString('base64url');
}

/** @returns the kind of a key, by its prefix; null when it has none */
export function keyKindOf(key: string): KeyKind | null {
  return KEY_KINDS.find((kind) => key.startsWith(PREFIX[kind])) ?? null;
}

/** @returns the key's prefix and four of its 43 random characters, so that people can recognise it in a list */
export function keyHint(kind: KeyKind, key: string): string {
  return `${key.slice(0, PREFIX[kind].length + 4)}…`;
}

/** How long a key can be used when nobody has said it. */
export const DEFAULT_KEY_LIFETIME_MS = 365 * DAY_MS;

/** A note by which people tell keys apart. It is shown in consoles and terminals. */
export const keyLabelSchema = z
  .string()
  .regex(/\S/, 'must not be empty')
  .max(100)
  .trim()
  // A terminal would run them.
  .regex(/^[^\u0000-\u001f\u007f-\u009f]+$/, 'must not contain control characters')
  .refine((label) => label.isWellFormed(), 'must not contain control characters');

/** The body of a request for a new key. */
export const createKeySchema = z
  .object({
    kind: z.enum(KEY_KINDS),
    label: keyLabelSchema,
    scopes: z
      .array(z.enum(SCOPES))
      .min(1)
      .max(SCOPES.length)
      .meta({ description: 'What the key may do. Each is also a scope of the key that asks.' }),
    crews: z
      .array(z.string().regex(/^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/, 'must be the name of a crew'))
      .min(1)
      .max(100)
      .optional()
      .meta({ description: 'Of a key of kind `crew_user`: the crews that it is for. Absent: all crews.' }),
    expires_at: z.iso
      .datetime({ offset: true })
      .nullable()
      .optional()
      .meta({ description: 'Absent: in 365 days. `null`: never.' }),
  })
  .refine(({ kind, crews }) => crews === undefined || kind === 'crew_user', {
    path: ['crews'],
    error: 'are for keys of kind crew_user',
  })
  .meta({ anyOf: [{ properties: { kind: { const: 'crew_user' } } }, { not: { required: ['crews'] } }] });

/** The authenticated client of a request. */
export interface Principal {
  key_id: string;
  label: string;
  org: string;
  kind: KeyKind;
  scopes: readonly Scope[];
  /** The crews that a key of kind `crew_user` was made for; absent when it was made for none in particular. */
  crews?: readonly string[];
}
