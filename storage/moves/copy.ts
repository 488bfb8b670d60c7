import { createHash } from 'node:crypto';
import { Binary, BSON, type Db, type Document, type Filter } from 'mongodb';
import type { SearchEngine } from '../../domain/content/index-generations.js';
import type { SealedContext, Sealer } from '../../domain/sealing.js';
import { NAMED_COLLECTIONS } from '../migrations/name-organisations.js';
import { replaceSealed } from '../sealed-fields.js';
import { MOVED_COLLECTIONS } from './records.js';

/** One of the two cells of a move. */
export interface CellRecords {
  db: Db;
  sealer: Sealer;
}

/** What a comparison of both cells found, and changed at the target. */
export interface CopyReport {
  /** Records at the source, by collection. */
  records: Record<string, number>;
  /** Records that were missing or different at the target, and were written. */
  written: number;
  /** Records that the source has no longer, and were deleted at the target. */
  deleted: number;
}

interface Moved {
  org: string;
  /** Of new search indexes at the target. */
  engine: SearchEngine;
}

/** Records that are read and written together, and their bytes, about. */
const BATCH = 500;
const BATCH_BYTES = 8 * 1024 * 1024;

/** Documents keep the types of their numbers. */
const EXACT = { promoteValues: false } as const;

/**
 * Makes the target's records of an organisation equal to the source's: one pass that reads both sides and compares the
 * checksum of each record. A pass that writes nothing has verified the copy. It can be repeated at any time while the
 * target does not serve the organisation.
 * @param engine of new search indexes at the target
 * @throws Error when a secret of the source cannot be opened
 */
export async function copyRecords(
  source: CellRecords,
  target: CellRecords,
  org: string,
  engine: SearchEngine,
): Promise<CopyReport> {
  const report: CopyReport = { records: {}, written: 0, deleted: 0 };
  for (const [name, find] of Object.entries(MOVED_COLLECTIONS)) {
    let count = 0;
    for await (const filter of find(source.db, org)) {
      for await (const page of pagesOf(source.db, name, filter)) {
        count += page.length;
        report.written += await copyPage(source, target, name, page, { org, engine });
      }
    }
    report.records[name] = count;
  }
  // Children first, because they are found by their parents.
  for (const [name, find] of Object.entries(MOVED_COLLECTIONS).reverse()) {
    for await (const filter of find(target.db, org))
      report.deleted += await deleteVanished(source, target, name, filter);
  }
  return report;
}

/** @returns how many records were different */
async function copyPage(
  source: CellRecords,
  target: CellRecords,
  name: string,
  page: readonly Document[],
  moved: Moved,
): Promise<number> {
  const ids = page.map(({ _id }) => _id);
  const present = await target.db
    .collection(name)
    .find({ _id: { $in: ids } }, EXACT)
    .toArray();
  const checksums = new Map(present.map((document) => [String(document._id), checksum(name, document, target.sealer)]));
  const different = page
    .map((document) => asMoved(name, document, moved))
    .filter((document) => checksum(name, document, source.sealer) !== checksums.get(String(document._id)));
  if (different.length === 0) return 0;
  await target.db.collection(name).bulkWrite(
    different.map((document) => ({
      replaceOne: {
        filter: { _id: document._id, ...(document.org === undefined ? {} : { org: document.org }) },
        replacement: resealed(name, document, source.sealer, target.sealer),
        upsert: true,
      },
    })),
    { ordered: false },
  );
  return different.length;
}

async function deleteVanished(
  source: CellRecords,
  target: CellRecords,
  name: string,
  filter: Filter<Document>,
): Promise<number> {
  let deleted = 0;
  for await (const page of pagesOf(target.db, name, filter, { _id: 1 })) {
    const ids = page.map(({ _id }) => _id);
    const left = await source.db
      .collection(name)
      .find({ _id: { $in: ids } }, { projection: { _id: 1 } })
      .toArray();
    const known = new Set(left.map(({ _id }) => String(_id)));
    const vanished = ids.filter((id) => !known.has(String(id)));
    if (vanished.length === 0) continue;
    deleted += (await target.db.collection(name).deleteMany({ _id: { $in: vanished } })).deletedCount;
  }
  return deleted;
}

/** A record as the target must have it before it serves the organisation. */
function asMoved(name: string, document: Document, { org, engine }: Moved): Document {
  // The target may look for no record without it.
  if (NAMED_COLLECTIONS.includes(name)) return { ...document, org };
  if (name === 'api_keys') return { ...document, closed: { state: 'moving' } };
  if (name !== 'databases') return document;
  // The search index is written again at the target, in its own engine.
  const { next_index, retired_indexes, ...database } = document;
  const { engine: _, ...index } = database.index as Document;
  return { ...database, index: engine === 'lancedb' ? index : { ...index, engine } };
}

/** SHA-256 of a record with its secrets as they are when opened: a seal is different each time. */
function checksum(name: string, document: Document, sealer: Sealer): string {
  const opened = replaceSealed(
    name,
    document,
    (sealed, context) => new Binary(Buffer.from(open(sealer, sealed, context))),
  );
  return createHash('sha256').update(BSON.serialize(opened)).digest('hex');
}

function resealed(name: string, document: Document, from: Sealer, to: Sealer): Document {
  return replaceSealed(name, document, (sealed, context) => new Binary(to.seal(open(from, sealed, context), context)));
}

function open(sealer: Sealer, sealed: Binary, context: SealedContext): string {
  return sealer.open(sealed.value(), context);
}

/** Records in pages of limited size. */
async function* pagesOf(
  db: Db,
  name: string,
  filter: Filter<Document>,
  projection: Document = {},
): AsyncGenerator<Document[]> {
  let page: Document[] = [];
  let bytes = 0;
  for await (const document of db.collection(name).find(filter, { ...EXACT, projection })) {
    page.push(document);
    bytes += BSON.calculateObjectSize(document);
    if (page.length < BATCH && bytes < BATCH_BYTES) continue;
    yield page;
    page = [];
    bytes = 0;
  }
  if (page.length > 0) yield page;
}
