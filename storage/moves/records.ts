import type { Db, Document, Filter } from 'mongodb';
import { IN_PROGRESS_STATUSES } from '../content/items.js';
import { namedOrOldRecords } from '../records-of.js';

/** How the records of an organisation are found in a collection. Several filters, so that none grows with its records. */
type Find = (db: Db, org: string) => AsyncIterable<Filter<Document>>;

/** Ids in one filter. */
const PAGE = 500;

/**
 * The collections that a move copies, parents before their children: a child is found by its parent. API keys and the
 * record of the organisation are copied too, and have a state of their own during a move (`states.ts`).
 */
export const MOVED_COLLECTIONS: Readonly<Record<string, Find>> = {
  api_keys: byOrg,
  databases: byOrg,
  items: byOrgAndDatabase,
  removed_items: byOrgAndDatabase,
  chunks: byDatabase,
  entities: byDatabase,
  relations: byDatabase,
  feedback: byOrgAndDatabase,
  feedback_tallies: withOldRecords(byDatabase),
  connectors: byOrg,
  connector_resources: byOrg,
  registrations: byId,
  crew_signing_secrets: byId,
  payment_signing_secrets: byId,
  signing_keys: byOrg,
  uploads: byOrg,
  ai_jobs: byOrg,
  ai_job_results: withOldRecords(byParent('ai_jobs', '_id')),
  crew_executions: byOrg,
  crew_steps: withOldRecords(byParent('crew_executions', 'execution')),
  crew_feedback: withOldRecords(byParent('crew_executions', 'execution')),
  authentications: byOrg,
  eligibility_data: byOrg,
  deliveries: byOrg,
  delivery_replays: byOrg,
  idempotency_keys: byIdPrefix('(?:GET|POST|PUT|PATCH|DELETE) '),
  model_tokens: byIdPrefix('\\d{4}-\\d{2}-\\d{2}$'),
};

/** The other collections, and why a move leaves them. */
export const NOT_MOVED: Readonly<Record<string, string>> = {
  organisations: 'has the state of the move; the limits are copied',
  quota_gates: 'measured again',
  rate_limits: 'counts of the last minute',
  index_rebuilds: 'of a cell; a move waits for none and starts when none runs',
  compaction_leases: 'of processes',
  processes: 'of a cell',
  process_ends: 'of a cell',
  sweeps: 'of a cell',
  delivery_lanes: 'of a cell',
  checkpoints: 'of items and jobs in progress, which a move waits for',
  unclaimed_files: 'of requests in progress, which a move waits for',
};

/** Work that a move waits for, with the filter of what has not ended. */
export const WORK_UNDER_WAY: readonly {
  what: string;
  collection: string;
  filter: Document;
  /** A partial index that holds such records alone, of all organisations. */
  hint?: string;
}[] = [
  { what: 'items', collection: 'items', filter: { indexing_status: { $in: [...IN_PROGRESS_STATUSES] } } },
  { what: 'index rows', collection: 'items', filter: { rows_due: { $gt: '' } }, hint: 'rows_due' },
  { what: 'deleted items', collection: 'removed_items', filter: { removal: { $gt: '' } }, hint: 'to_clear' },
  { what: 'databases', collection: 'databases', filter: { status: { $ne: 'ready' } } },
  { what: 'jobs', collection: 'ai_jobs', filter: { status: { $in: ['queued', 'processing'] } } },
  { what: 'crews', collection: 'crew_executions', filter: { status: { $in: ['running', 'retrying'] } } },
  { what: 'deleted connectors', collection: 'connectors', filter: { deleted_at: { $ne: null } } },
  { what: 'bulk retries', collection: 'delivery_replays', filter: { status: 'running' } },
];

/** @returns how much of an organisation's work has not ended, by kind; kinds without any are left out */
export async function countWork(db: Db, org: string): Promise<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const { what, collection, filter, hint } of WORK_UNDER_WAY) {
    for await (const own of MOVED_COLLECTIONS[collection]!(db, org)) {
      const count = await db.collection(collection).countDocuments({ $and: [own, filter] }, hint ? { hint } : {});
      if (count > 0) counts[what] = (counts[what] ?? 0) + count;
    }
  }
  return counts;
}

/** @returns a collection that has records of the organisation; null when there are none */
export async function findRecords(db: Db, org: string, except: readonly string[] = []): Promise<string | null> {
  for (const [name, find] of Object.entries(MOVED_COLLECTIONS)) {
    if (except.includes(name)) continue;
    for await (const filter of find(db, org)) {
      if (await db.collection(name).findOne(filter, { projection: { _id: 1 } })) return name;
    }
  }
  return null;
}

/** Deletes the records of an organisation, children first. @returns how many */
export async function deleteRecords(db: Db, org: string, except: readonly string[] = []): Promise<number> {
  let deleted = 0;
  for (const [name, find] of Object.entries(MOVED_COLLECTIONS).reverse()) {
    if (except.includes(name)) continue;
    // Read first: what is deleted may be what the filters are found by.
    const filters = [];
    for await (const filter of find(db, org)) filters.push(filter);
    for (const filter of filters) deleted += (await db.collection(name).deleteMany(filter)).deletedCount;
  }
  return deleted;
}

async function* byOrg(_db: Db, org: string): AsyncGenerator<Filter<Document>> {
  yield { org };
}

async function* byId(_db: Db, org: string): AsyncGenerator<Filter<Document>> {
  yield { _id: org as never };
}

/** Characters with a meaning in regular expressions. */
const SYNTAX = /[\\^$.*+?()[\]{}|]/g;

/** @param rest of the id after the organisation, which may contain slashes itself */
function byIdPrefix(rest: string): Find {
  return async function* (_db, org) {
    yield { _id: { $regex: `^${org.replace(SYNTAX, '\\$&')}/${rest}` } as never };
  };
}

async function* byDatabase(db: Db, org: string): AsyncGenerator<Filter<Document>> {
  for await (const ids of pagesOfIds(db, 'databases', { org })) yield { database_id: { $in: ids } };
}

async function* byOrgAndDatabase(db: Db, org: string): AsyncGenerator<Filter<Document>> {
  for await (const filter of byDatabase(db, org)) yield { org, ...filter };
}

/** Records of earlier releases do not name their organisation. */
function withOldRecords(find: Find): Find {
  return async function* (db, org) {
    for await (const filter of find(db, org)) yield { ...namedOrOldRecords(org), ...filter };
  };
}

function byParent(parents: string, field: string): Find {
  return async function* (db, org) {
    for await (const ids of pagesOfIds(db, parents, { org })) yield { [field]: { $in: ids } } as Filter<Document>;
  };
}

async function* pagesOfIds(db: Db, collection: string, filter: Filter<Document>): AsyncGenerator<unknown[]> {
  let page: unknown[] = [];
  for await (const { _id } of db.collection(collection).find(filter, { projection: { _id: 1 } })) {
    page.push(_id);
    if (page.length === PAGE) {
      yield page;
      page = [];
    }
  }
  if (page.length > 0) yield page;
}
