import { type StateOf, type StatesWith, type StateTable, statesOf, statesWith } from '../state-machine.js';

/** Statuses of an AI job, in the specification's words. */
export const JOB_STATUS_TABLE = {
  queued: { phase: 'unfinished', tone: 'idle' },
  processing: { phase: 'unfinished', tone: 'busy' },
  success: { phase: 'final', tone: 'good', label: 'succeeded' },
  fail: { phase: 'final', tone: 'bad', label: 'failed' },
} as const satisfies StateTable;
export type JobStatus = StateOf<typeof JOB_STATUS_TABLE>;
export type FinalJobStatus = StatesWith<typeof JOB_STATUS_TABLE, { phase: 'final' }>;

export const JOB_STATUSES = statesOf(JOB_STATUS_TABLE);
export const UNFINISHED_JOB_STATUSES = statesWith(JOB_STATUS_TABLE, { phase: 'unfinished' });
