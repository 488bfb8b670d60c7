import {
  isFinalState,
  type StateOf,
  type StatesWith,
  type StateTable,
  statesOf,
  statesWith,
} from '../state-machine.js';

/** Indexing statuses of an item, in the specification's words. */
export const INDEXING_STATUS_TABLE = {
  queued: { phase: 'unfinished', tone: 'idle' },
  processing: { phase: 'unfinished', tone: 'busy' },
  graph_creation: { phase: 'unfinished', tone: 'busy', label: 'building graph' },
  completed: { phase: 'final', tone: 'good' },
  errored: { phase: 'final', tone: 'bad' },
} as const satisfies StateTable;
export type IndexingStatus = StateOf<typeof INDEXING_STATUS_TABLE>;
export type FinalIndexingStatus = StatesWith<typeof INDEXING_STATUS_TABLE, { phase: 'final' }>;

/** Whether the newest version of an item has ended. */
export const hasEnded = ({ indexing_status }: { indexing_status: IndexingStatus }) =>
  isFinalState(INDEXING_STATUS_TABLE, indexing_status);

export const INDEXING_STATUSES = statesOf(INDEXING_STATUS_TABLE);
export const UNFINISHED_INDEXING_STATUSES = statesWith(INDEXING_STATUS_TABLE, { phase: 'unfinished' });
export const FINAL_INDEXING_STATUSES = statesWith(INDEXING_STATUS_TABLE, { phase: 'final' });

/** Statuses of a database. A deleted database has no record. */
export const DATABASE_STATUS_TABLE = {
  provisioning: { phase: 'unfinished', tone: 'busy' },
  ready: { phase: 'final', tone: 'good' },
  deleting: { phase: 'unfinished', tone: 'busy' },
} as const satisfies StateTable;
export type DatabaseStatus = StateOf<typeof DATABASE_STATUS_TABLE>;

export const DATABASE_STATUSES = statesOf(DATABASE_STATUS_TABLE);
export const UNFINISHED_DATABASE_STATUSES = statesWith(DATABASE_STATUS_TABLE, { phase: 'unfinished' });

/** Statuses of a change of the embedding model. `planned` ends a request that only asks what would happen. */
export const REBUILD_STATUS_TABLE = {
  planning: { phase: 'unfinished', tone: 'busy' },
  planned: { phase: 'final', tone: 'good' },
  running: { phase: 'unfinished', tone: 'busy' },
  completed: { phase: 'final', tone: 'good' },
  cancelled: { phase: 'final', tone: 'warn' },
  failed: { phase: 'final', tone: 'bad' },
} as const satisfies StateTable;
export type RebuildStatus = StateOf<typeof REBUILD_STATUS_TABLE>;

export const UNFINISHED_REBUILD_STATUSES = statesWith(REBUILD_STATUS_TABLE, { phase: 'unfinished' });
