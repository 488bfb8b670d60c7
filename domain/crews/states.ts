import { type StateOf, type StateTable, statesOf, statesWith } from '../state-machine.js';

/** Statuses of an execution, in the specification's words. `working`: the workflow works on a task. */
export const EXECUTION_STATUS_TABLE = {
  running: { phase: 'unfinished', working: true, tone: 'busy' },
  pending_human_input: { phase: 'unfinished', working: false, tone: 'warn', label: 'waits for a person' },
  retrying: { phase: 'unfinished', working: true, tone: 'busy' },
  completed: { phase: 'final', working: false, tone: 'good' },
  error: { phase: 'final', working: false, tone: 'bad' },
} as const satisfies StateTable<{ working: boolean }>;
export type ExecutionStatus = StateOf<typeof EXECUTION_STATUS_TABLE>;

export const EXECUTION_STATUSES = statesOf(EXECUTION_STATUS_TABLE);
export const UNFINISHED_EXECUTION_STATUSES = statesWith(EXECUTION_STATUS_TABLE, { phase: 'unfinished' });
export const WORKING_EXECUTION_STATUSES = statesWith(EXECUTION_STATUS_TABLE, { working: true });

/** Statuses of a task in an execution: `pending` before it starts, then as for executions. */
export const CREW_TASK_STATUS_TABLE = {
  pending: { phase: 'unfinished', working: false, tone: 'idle' },
  ...EXECUTION_STATUS_TABLE,
} as const satisfies StateTable<{ working: boolean }>;
export type CrewTaskStatus = StateOf<typeof CREW_TASK_STATUS_TABLE>;

export const CREW_TASK_STATUSES = statesOf(CREW_TASK_STATUS_TABLE);
