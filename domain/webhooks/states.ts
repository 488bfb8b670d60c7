import { type StateOf, type StateTable, statesOf, statesWith } from '../state-machine.js';

/**
 * States of a delivery, in the specification's words. `sweeping`: an attempt is in progress; `retryable`: a client may requeue the
 * delivery (specification, `POST …/deliveries/{id}/retry`).
 */
export const DELIVERY_STATE_TABLE = {
  pending: { phase: 'unfinished', retryable: false, tone: 'idle' },
  sweeping: { phase: 'unfinished', retryable: false, tone: 'busy', label: 'sending' },
  delivered: { phase: 'final', retryable: false, tone: 'good' },
  failed: { phase: 'unfinished', retryable: true, tone: 'warn', label: 'will retry' },
  permanently_failed: { phase: 'final', retryable: true, tone: 'bad', label: 'failed' },
} as const satisfies StateTable<{ retryable: boolean }>;
export type DeliveryState = StateOf<typeof DELIVERY_STATE_TABLE>;

export const DELIVERY_STATES = statesOf(DELIVERY_STATE_TABLE);
export const UNFINISHED_DELIVERY_STATES = statesWith(DELIVERY_STATE_TABLE, { phase: 'unfinished' });
export const RETRYABLE_DELIVERY_STATES = statesWith(DELIVERY_STATE_TABLE, { retryable: true });

/** Statuses of a replay: many deliveries are requeued. */
export const REPLAY_STATUS_TABLE = {
  running: { phase: 'unfinished', tone: 'busy' },
  completed: { phase: 'final', tone: 'good' },
  cancelled: { phase: 'final', tone: 'warn' },
} as const satisfies StateTable;
export type ReplayStatus = StateOf<typeof REPLAY_STATUS_TABLE>;

export const REPLAY_STATUSES = statesOf(REPLAY_STATUS_TABLE);
