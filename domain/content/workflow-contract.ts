import type { FinalIndexingStatus } from './states.js';

export interface ItemVersion {
  /** Internal key (`itm_…`). */
  item: string;
  version: number;
}

/** One version of one item, and whose it is. */
export interface ItemRef extends ItemVersion {
  org: string;
  /** Internal id (`tnt_…`). */
  database_id: string;
}

/** @returns a version of an item, as its workflow names it */
export const refOf = ({ _id: item, version, org, database_id }: Omit<ItemRef, 'item'> & { _id: string }): ItemRef => ({
  item,
  version,
  org,
  database_id,
});

/** Small items of one collection that are indexed together: one, or many. */
export interface ItemsRef {
  org: string;
  database_id: string;
  items: ItemVersion[];
  /** True for files. */
  files?: true;
}

/** An item that could not be indexed. */
export type ErroredItem = ItemVersion & {
  error_code: string | undefined;
  error_message: string | undefined;
};

/** How the items of a workflow ended. */
export interface ItemsReport {
  completed: number;
  /** Replaced or deleted. */
  dropped: number;
  errored: ErroredItem[];
}

/** Adds how an item ended to the report of its workflow. */
export function addOutcome(
  report: ItemsReport,
  { item, version }: ItemVersion,
  outcome: ItemOutcome | typeof SUPERSEDED,
): void {
  if (outcome === SUPERSEDED) report.dropped += 1;
  else if (outcome.status === 'completed') report.completed += 1;
  else {
    const { error_code, error_message } = outcome;
    report.errored.push({ item, version, error_code, error_message });
  }
}

/** What the attempt at items together has brought. */
export interface ItemsAttempt extends ItemsReport {
  /** Items that continue one by one. */
  left: ItemVersion[];
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

/** What a client reads of a defect of this service. */
export const ITEM_INTERNAL_ERROR = 'The item could not be indexed because of an internal error.';

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
