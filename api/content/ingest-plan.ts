import { contentHash } from '../../domain/content/items.js';
import { metadataFault } from '../../domain/content/metadata.js';
import { groupNumbers } from '../../domain/content/small-items.js';
import { ServiceError } from '../../domain/errors.js';
import { withPauses } from '../../domain/event-loop.js';
import { sha256Hex } from '../../domain/ids.js';
import type { AddedUse } from '../../domain/quotas.js';
import type { DatabaseRecord } from '../../storage/content/databases.js';
import {
  addedUse,
  type ExistingItem,
  type ItemQueue,
  queuedItem,
  unservedFiles,
} from '../../storage/content/item-queue.js';
import type { ItemRecord } from '../../storage/content/items.js';
import type { Draft } from './ingest-drafts.js';

/** What an ingest request changes in its database. */
export interface IngestPlan {
  /** Items to queue. */
  records: ItemRecord[];
  /** Items that have the same content already: nothing is indexed again. */
  unchanged: ExistingItem[];
  /** Ids of the files of replaced versions that were not served. */
  replacedFiles: string[];
  /** What the items to queue add to the use of the organisation. */
  added: AddedUse;
}

export interface IngestTarget {
  database: DatabaseRecord;
  collection: string;
  batch: string;
  upsert: boolean;
}

/** @throws ServiceError SOURCE_ALREADY_EXISTS when an id exists and `upsert` is false */
export async function planIngest(
  itemQueue: Pick<ItemQueue, 'findExisting'>,
  drafts: readonly Draft[],
  target: IngestTarget,
  now: Date,
): Promise<IngestPlan> {
  const { database, collection, batch, upsert } = target;
  const valid = drafts.flatMap(({ id, content, sha256 }) => (content ? [{ id, content, sha256 }] : []));
  const found = await itemQueue.findExisting(
    database,
    collection,
    valid.map(({ id }) => id),
  );
  if (found[0] && !upsert) {
    throw new ServiceError(
      'SOURCE_ALREADY_EXISTS',
      `An item with the id "${found[0].id}" already exists in the collection "${collection}"; send upsert=true to replace it.`,
    );
  }
  const existingById = new Map(found.map((item) => [item.id, item]));
  const plan: IngestPlan = { records: [], unchanged: [], replacedFiles: [], added: {} };
  for await (const { id, content, sha256 } of withPauses(valid)) {
    const existing = existingById.get(id);
    const content_hash = contentHashOf(content, sha256, collection);
    if (existing && existing.content_hash === content_hash && existing.indexing_status !== 'errored') {
      plan.unchanged.push(existing);
      continue;
    }
    if (existing) plan.replacedFiles.push(...unservedFiles([existing]));
    const owner = { org: database.org, database_id: database._id, database: database.name, collection, batch };
    plan.records.push(queuedItem({ ...owner, id, ...content, content_hash }, existing, now));
  }
  const groups = groupNumbers(plan.records);
  for (const [n, record] of plan.records.entries()) if (groups[n] !== undefined) record.group = groups[n];
  plan.added = addedUse(plan.records, existingById);
  return plan;
}

/** @throws ServiceError VALIDATION_ERROR that names the item and its field */
export async function checkMetadata(database: DatabaseRecord, drafts: readonly Draft[]): Promise<void> {
  for await (const { field, id, content } of withPauses(drafts)) {
    const fault = content && metadataFault(database.metadata_schema, content.metadata);
    if (fault) throw new ServiceError('VALIDATION_ERROR', `${field}.metadata.${fault}; item "${id}"`);
  }
}

function contentHashOf(
  { source, ...content }: NonNullable<Draft['content']>,
  sha256: string | undefined,
  collection: string,
): string {
  return contentHash({
    ...content,
    collection,
    source:
      source.kind === 'text'
        ? { sha256: sha256Hex(source.text) }
        : // A scan in another language has another text.
          { sha256, filename: source.filename, language: source.language },
  });
}
