import { randomBytes } from 'node:crypto';

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

/** The authenticated client of a request. */
export interface Principal {
  key_id: string;
  org: string;
  kind: KeyKind;
  scopes: readonly Scope[];
  /** The crews that a key of kind `crew_user` was made for; absent when it was made for none in particular. */
  crews?: readonly string[];
}
