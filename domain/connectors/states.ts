import { type StateOf, type StateTable, statesOf } from '../state-machine.js';

/** Statuses of a sync. */
export const SYNC_STATUS_TABLE = {
  running: { phase: 'unfinished', tone: 'busy' },
  completed: { phase: 'final', tone: 'good' },
  failed: { phase: 'final', tone: 'bad' },
} as const satisfies StateTable;
export type SyncStatus = StateOf<typeof SYNC_STATUS_TABLE>;

export const SYNC_STATUSES = statesOf(SYNC_STATUS_TABLE);
