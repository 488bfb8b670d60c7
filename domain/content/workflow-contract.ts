import type { FinalIndexingStatus } from './states.js';

/** One version of one item. */
export interface ItemRef {
  /** Internal key (`itm_…`). */
  item: string;
  version: number;
  org: string;
  /** Internal id (`tnt_…`). */
  database_id: string;
  /** True for an item that is indexed in one activity. */
  small?: true;
  /** True for a small item that is a file. */
  file?: true;
}

/** A version as a search row or an id of a chunk names it. */
export type VersionRef = Pick<ItemRef, 'item' | 'version'>;

/** A group of small items of one request, or of many requests with one item each. */
export interface GroupRef {
  org: string;
  /** `bat_…` */
  batch: string;
  /** From 0. */
  group: number;
  /** True for a group of files. */
  files?: true;
}

/** Outcomes of the members of a group that were still in progress. */
export interface GroupReport {
  completed: number;
  /** Replaced, deleted, or finished by another run. */
  dropped: number;
  /** Continued by workflows of their own. */
  separated: number;
}

/** The queue of the activities of groups of texts, which the worker of `content` serves with slots of their own. */
export const GROUP_QUEUE = 'content-groups';

export interface ItemOutcome {
  status: FinalIndexingStatus;
  error_code?: string;
  /** Written for the client; never quotes the item's content. */
  error_message?: string;
}

export interface IngestRef {
  org: string;
  batch: string;
}

export interface DatabaseRef {
  org: string;
  database_id: string;
}

/** Deleted items whose remaining data must be cleared. */
export interface RemovalRef {
  org: string;
  /** `rmv_…` */
  removal: string;
}

/** The type of the failure that ends a workflow because its item was deleted or replaced. No webhook is sent. */
export const SUPERSEDED = 'Superseded';

/** The queue of the activities of files and long texts, likewise with slots of its own. */
export const FILE_QUEUE = 'content-files';

/** A rebuild of search indexes with new vectors, or its plan. */
export interface RebuildRef {
  /** `rbd_…` */
  rebuild: string;
  /** How long old indexes stay after the switch, for queries in progress. */
  grace_ms?: number;
}

/** The database that a rebuild works on. */
export interface RebuiltDatabase {
  database_id: string;
  generation: number;
}

export interface RebuildProgress {
  /** Chunks that have been handled, of about `chunks`. */
  handled: number;
  chunks: number;
  /** Databases that are not switched yet. */
  remaining: number;
  /** The database whose chunks are all embedded, so that it can be switched. */
  embedded?: RebuiltDatabase;
  ended: boolean;
}
