import { type StateOf, type StateTable, statesOf, statesWith } from '../state-machine.js';

/** States of an authentication, in the specification's words. An authentication that is not final is open. */
export const AUTHENTICATION_STATE_TABLE = {
  started: { phase: 'unfinished', tone: 'idle' },
  eligibility_checked: { phase: 'unfinished', tone: 'busy' },
  closed: { phase: 'final', tone: 'good' },
  expired: { phase: 'final', tone: 'warn' },
} as const satisfies StateTable;
export type AuthenticationStatus = StateOf<typeof AUTHENTICATION_STATE_TABLE>;

export const AUTHENTICATION_STATES = statesOf(AUTHENTICATION_STATE_TABLE);
export const OPEN_AUTHENTICATION_STATES = statesWith(AUTHENTICATION_STATE_TABLE, { phase: 'unfinished' });
export const ENDED_AUTHENTICATION_STATES = statesWith(AUTHENTICATION_STATE_TABLE, { phase: 'final' });
