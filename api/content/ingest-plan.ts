import { contentHash } from '../../domain/content/items.js';
import { metadataFault } from '../../domain/content/metadata.js';
import { ServiceError } from '../../domain/errors.js';
import type { IndexingStatus } from '../../domain/states.js';
import type { DatabaseRecord } from '../../storage/content/databases.js';
import { type ExistingItem, type ItemRecord, type Items, queuedItem } from '../../storage/content/items.js';
import type { Draft } from './ingest-drafts.js';

/** What an ingest request comes to, given what is in the database. */
export interface IngestPlan {
  /** To be queued. */
  records: ItemRecord[];
  /** Items that have this very content: completed, or on their way there. Nothing is done again for them. */
  unchanged: ExistingItem[];
  /** Files of the items that are replaced. */
  replacedFiles: string[];
}

export interface IngestTarget {
  database: DatabaseRecord;
  collection: string;
  batch: string;
  upsert: boolean;
}

/** An errored item is worth another try with the same content. */
const WORTH_KEEPING: readonly IndexingStatus[] = ['queued', 'processing', 'graph_creation', 'completed'];

/** @throws ServiceError SOURCE_ALREADY_EXISTS for an id that is taken, unless items are to be replaced */
export async function planIngest(items: Items, drafts: readonly Draft[], target: IngestTarget): Promise<IngestPlan> {
  const { database, collection, batch, upsert } = target;
  const wanted = drafts.flatMap(({ id, content, sha256 }) => (content ? [{ id, content, sha256 }] : []));
  const found = await items.findExisting(
    database._id,
    wanted.map(({ id }) => id),
  );
  if (found[0] && !upsert) {
    throw new ServiceError(
      'SOURCE_ALREADY_EXISTS',
      `An item with the id "${found[0].id}" exists already; send upsert=true to replace it.`,
    );
  }
  const existing = new Map(found.map((item) => [item.id, item]));
  const now = new Date();
  const plan: IngestPlan = { records: [], unchanged: [], replacedFiles: [] };
  for (const { id, content, sha256 } of wanted) {
    const before = existing.get(id);
    const content_hash = hashOf(content, sha256, collection);
    if (before && before.content_hash === content_hash && WORTH_KEEPING.includes(before.indexing_status)) {
      plan.unchanged.push(before);
      continue;
    }
    if (before?.source.file_id) plan.replacedFiles.push(before.source.file_id);
    const place = { org: database.org, database_id: database._id, database: database.name, collection, batch };
    plan.records.push(queuedItem({ ...place, id, ...content, content_hash }, before, now));
  }
  return plan;
}

/** @throws ServiceError VALIDATION_ERROR that names the item and its field; then nothing of the request counts */
export function checkMetadata(database: DatabaseRecord, drafts: readonly Draft[]): void {
  for (const { field, id, content } of drafts) {
    const fault = content && metadataFault(database.metadata_schema, content.metadata);
    if (fault) throw new ServiceError('VALIDATION_ERROR', `${field}.metadata.${fault}; item "${id}"`);
  }
}

function hashOf(content: NonNullable<Draft['content']>, sha256: string | undefined, collection: string): string {
  const { type, title, source, metadata, additional_metadata } = content;
  return contentHash({
    collection,
    type,
    title,
    source: source.kind === 'text' ? { text: source.text } : { sha256: sha256!, filename: source.filename },
    metadata,
    additional_metadata,
  });
}
