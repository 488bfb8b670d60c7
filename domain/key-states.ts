import { type StateOf, type StateTable, statesOf } from './state-machine.js';

/** States of an API key, which follow from its expiry and its revocation. */
export const KEY_STATE_TABLE = {
  active: { phase: 'unfinished', tone: 'good' },
  expired: { phase: 'final', tone: 'idle' },
  revoked: { phase: 'final', tone: 'idle' },
} as const satisfies StateTable;
export type KeyState = StateOf<typeof KEY_STATE_TABLE>;

export const KEY_STATES = statesOf(KEY_STATE_TABLE);

/** @param now in the time of the database, by which keys expire */
export function keyStateOf(key: { expires_at: Date | null; revoked_at: Date | null }, now: Date): KeyState {
  if (key.revoked_at) return 'revoked';
  return key.expires_at && key.expires_at <= now ? 'expired' : 'active';
}
