import { Binary } from 'mongodb';
import type { Chunk } from '../../domain/content/chunking.js';
import type { GraphText } from '../../domain/content/graph.js';
import type { TextLanguage } from '../../domain/content/languages.js';
import type { ItemType } from '../../domain/content/search.js';
import type { ItemRef } from '../../domain/content/workflow-contract.js';
import { chunkId } from '../../domain/ids.js';
import type { Access } from '../collections.js';
import { VERSION_INDEX } from '../indexes.js';
import { BY_ID, pageById } from '../queries.js';
import type { ItemRecord } from './items.js';
import { type VersionRange, versionsIn } from './outdated-versions.js';

/** A chunk of an item version, as it is stored. */
export interface ChunkRecord extends Omit<Chunk, 'page' | 'sheet'> {
  _id: string;
  item: string;
  version: number;
  database_id: string;
  source_id: string;
  collection: string;
  type: ItemType;
  title: string | null;
  /** The language of the text; English when absent. */
  language?: TextLanguage;
  page: number | null;
  sheet: string | null;
  /** By generation of the index: 32-bit floats, little endian. Absent until embedded, and without an embedding model. */
  vectors?: Record<string, Binary>;
}

/** A chunk with its vector of one generation of the index. */
export type EmbeddedChunk = Omit<ChunkRecord, 'vectors'> & { vector: Float32Array | null };

/** The fields that a chunk copies from its item. */
type ChunkOwner = Pick<ItemRecord, '_id' | 'id' | 'version' | 'database_id' | 'collection' | 'type'>;

/** A version of an item, in its database. */
export type VersionInDatabase = Pick<ItemRef, 'database_id' | 'item' | 'version'>;

/** Chunks of an item in memory at a time: several clients may change large items at once. */
const PAGE = 512;

export type Chunks = ReturnType<typeof createChunks>;

/** Chunks with their vectors, from which the search index is built and can be rebuilt. */
export function createChunks({ chunks }: Access<'chunks'>) {
  /** The chunks of a version in order, from the ordinal `from`; all without a limit. */
  const ofVersion = ({ database_id, item, version }: VersionInDatabase, from = 0, limit = 0) =>
    chunks
      .find({ database_id, item, version, ...(from > 0 && { ordinal: { $gte: from } }) }, { hint: VERSION_INDEX })
      .sort({ ordinal: 1 })
      .limit(limit);

  return {
    /** Stores the chunks of one item version; does nothing for chunks that are stored. */
    async put(records: readonly ChunkRecord[]): Promise<void> {
      if (records.length === 0) return;
      await chunks.bulkWrite(
        records.map((record) => ({
          updateOne: {
            filter: { _id: record._id, database_id: record.database_id },
            update: { $setOnInsert: record },
            upsert: true,
            ...BY_ID,
          },
        })),
        { ordered: false },
      );
    },

    /**
     * Stores the chunks of small items with their vectors.
     * @param stored ids of those that an earlier run may have stored
     */
    async add(embedded: readonly EmbeddedChunk[], generation: number, stored: ReadonlySet<string>): Promise<void> {
      const records = embedded.map((chunk) => withPackedVector(chunk, generation));
      if (records.length === 0) return;
      await chunks.bulkWrite(
        records.map((record) =>
          stored.has(record._id)
            ? {
                replaceOne: {
                  filter: { _id: record._id, database_id: record.database_id },
                  replacement: record,
                  upsert: true,
                  ...BY_ID,
                },
              }
            : { insertOne: { document: record } },
        ),
        { ordered: false },
      );
    },

    /** @param items of one database @returns ids of the chunks of these versions that are stored already */
    async listStored(items: readonly { _id: string; database_id: string; version: number }[]): Promise<Set<string>> {
      const versions = new Map(items.map(({ _id, version }) => [_id, version]));
      const found = await chunks
        .find({ database_id: items[0]!.database_id, item: { $in: [...versions.keys()] } }, { hint: VERSION_INDEX })
        .project<Pick<ChunkRecord, '_id' | 'item' | 'version'>>({ item: 1, version: 1 })
        .toArray();
      return new Set(found.flatMap(({ _id, item, version }) => (version === versions.get(item) ? [_id] : [])));
    },

    /** Reads the chunks of a version in order, with vectors, in pages: the largest item has thousands. */
    async *embeddedPages(ref: VersionInDatabase, generation: number): AsyncGenerator<EmbeddedChunk[]> {
      for (let from = 0; ; from += PAGE) {
        const page = await ofVersion(ref, from, PAGE).map(withVectorOf(generation)).toArray();
        if (page.length > 0) yield page;
        if (page.length < PAGE) return;
      }
    },

    /** @returns these chunks with vectors */
    async listById(databaseId: string, ids: readonly string[], generation: number): Promise<EmbeddedChunk[]> {
      if (ids.length === 0) return [];
      return chunks.find(withIds(databaseId, ids), BY_ID).map(withVectorOf(generation)).toArray();
    },

    /**
     * @param after the last chunk of the page before; null for the first page
     * @param missing only chunks without a vector of this generation
     * @returns one page of a database's chunks in the order of their ids, with vectors
     */
    listOfDatabase(
      databaseId: string,
      generation: number,
      { after, limit, missing = false }: { after: string | null; limit: number; missing?: boolean },
    ): Promise<EmbeddedChunk[]> {
      const filter = { database_id: databaseId, ...(missing && { [vectorField(generation)]: { $exists: false } }) };
      const page = { from: after ?? undefined, limit };
      return pageById(chunks, filter, page, 1).map(withVectorOf(generation)).toArray();
    },

    /** @returns the number of a database's chunks, the characters of their texts, and chunks without a vector of the generation */
    async measure(
      databaseId: string,
      generation: number,
    ): Promise<{ chunks: number; characters: number; missing: number }> {
      const [sums] = await chunks
        .aggregate<{ chunks: number; characters: number; missing: number }>([
          { $match: { database_id: databaseId } },
          {
            $group: {
              _id: null,
              chunks: { $sum: 1 },
              characters: { $sum: { $add: [{ $strLenCP: '$text' }, { $strLenCP: { $ifNull: ['$title', ''] } }] } },
              missing: { $sum: { $cond: [{ $gt: [`$${vectorField(generation)}`, null] }, 0, 1] } },
            },
          },
          { $project: { _id: 0 } },
        ])
        .toArray();
      return sums ?? { chunks: 0, characters: 0, missing: 0 };
    },

    /** @returns the first chunks of a version in order, with at most so many characters together */
    async listTexts(ref: VersionInDatabase, maxCharacters: number): Promise<GraphText[]> {
      const texts: GraphText[] = [];
      let characters = 0;
      const found = ofVersion(ref).project<Pick<ChunkRecord, '_id' | 'text' | 'code'>>({ text: 1, code: 1 });
      for await (const { _id, text, code } of found) {
        characters += text.length;
        if (characters > maxCharacters) break;
        texts.push({ chunk_id: _id, text, ...(code && { code }) });
      }
      return texts;
    },

    /** @returns the chunk ids of versions of an item */
    async listIds(databaseId: string, versions: VersionRange): Promise<string[]> {
      const found = chunks.find(versionsIn(databaseId, versions), { projection: { _id: 1 }, hint: VERSION_INDEX });
      return (await found.toArray()).map((chunk) => chunk._id);
    },

    /** @param vectors by chunk id */
    async setVectors(
      databaseId: string,
      vectors: ReadonlyMap<string, Float32Array>,
      generation: number,
    ): Promise<void> {
      if (vectors.size === 0) return;
      await chunks.bulkWrite(
        [...vectors].map(([_id, vector]) => ({
          updateOne: {
            filter: { _id, database_id: databaseId },
            update: { $set: { [vectorField(generation)]: packVector(vector) } },
            ...BY_ID,
          },
        })),
        { ordered: false },
      );
    },

    /** Removes the vectors of a generation from all chunks of a database. */
    async dropVectors(databaseId: string, generation: number): Promise<void> {
      const field = vectorField(generation);
      await chunks.updateMany({ database_id: databaseId, [field]: { $exists: true } }, { $unset: { [field]: true } });
    },

    /** @returns chunks by id, without vectors. Responses show these, and never the text of the index. */
    async getByIds(databaseId: string, ids: readonly string[]): Promise<Map<string, ChunkRecord>> {
      const found = await chunks.find(withIds(databaseId, ids), BY_ID).project<ChunkRecord>({ vectors: 0 }).toArray();
      return new Map(found.map((chunk) => [chunk._id, chunk]));
    },

    /**
     * @param from the first ordinal
     * @returns one page of a version's chunks in order, without vectors
     */
    listPage(ref: VersionInDatabase, from: number, limit: number): Promise<ChunkRecord[]> {
      return ofVersion(ref, from, limit).project<ChunkRecord>({ vectors: 0 }).toArray();
    },

    async remove(databaseId: string, ids: readonly string[]): Promise<void> {
      await chunks.deleteMany(withIds(databaseId, ids), BY_ID);
    },
  };
}

/** Packs a vector into 4 bytes per number; an array of doubles in BSON takes about 11. */
function packVector(vector: Float32Array): Binary {
  return new Binary(Buffer.from(vector.buffer, vector.byteOffset, vector.byteLength));
}

/** @returns a chunk as it is stored */
export function withPackedVector({ vector, ...record }: EmbeddedChunk, generation: number): ChunkRecord {
  return vector ? { ...record, vectors: { [generation]: packVector(vector) } } : record;
}

/** A database belongs to one organisation, and its id is never used again. */
const withIds = (databaseId: string, ids: readonly string[]) => ({ _id: { $in: [...ids] }, database_id: databaseId });

const vectorField = (generation: number) => `vectors.${generation}`;

const withVectorOf =
  (generation: number) =>
  ({ vectors, ...record }: ChunkRecord): EmbeddedChunk => {
    const vector = vectors?.[generation];
    return { ...record, vector: vector ? unpackVector(vector) : null };
  };

function unpackVector(binary: Binary): Float32Array {
  // Copied, because a Float32Array must start at a multiple of four, and the driver's buffer may not.
  const bytes = Uint8Array.from(binary.buffer.subarray(0, binary.position));
  return new Float32Array(bytes.buffer);
}

/** @returns the chunk records of an item version, without vectors */
export function chunkRecords(item: ChunkOwner, title: string | null, chunks: readonly Chunk[]): ChunkRecord[] {
  return chunks.map((chunk) => ({
    ...chunk,
    _id: chunkId(item._id, item.version, chunk.ordinal),
    item: item._id,
    version: item.version,
    database_id: item.database_id,
    source_id: item.id,
    collection: item.collection,
    type: item.type,
    title,
    page: chunk.page ?? null,
    sheet: chunk.sheet ?? null,
  }));
}
