/** Types shared by the search index, the embedders and retrieval. */
import type { IndexedMetadata } from './indexed-metadata.js';
import type { MetadataFilter } from './metadata-filters.js';

/** Turns text into vectors; implemented in `providers/embeddings/`. */
export interface Embedder {
  /** Model name, as operators know it. */
  readonly model: string;
  readonly dimensions: number;
  /** @returns one unit-length vector per text, in order. @throws EmbeddingError */
  embedDocuments(texts: readonly string[], signal?: AbortSignal): Promise<Float32Array[]>;
  /** Separate from documents, because some models (bge) need a prefix for queries. @throws EmbeddingError */
  embedQuery(text: string, signal?: AbortSignal): Promise<Float32Array>;
  close(): Promise<void>;
}

export const ITEM_TYPES = ['knowledge', 'memory'] as const;
export type ItemType = (typeof ITEM_TYPES)[number];

/** A row of the search index. The text shown to a client is read from MongoDB by `chunk_id`. */
export interface IndexRow {
  chunk_id: string;
  /** The client's id of the item. */
  source_id: string;
  collection: string;
  type: ItemType;
  /** What full-text search sees: title, headings and text. */
  text: string;
  /** Absent when the database was indexed without an embedding model. */
  vector: Float32Array | null;
  /** The item's; every chunk carries it, so that a filter is part of the search. */
  metadata: IndexedMetadata;
}

export const QUERY_MODES = ['hybrid', 'text', 'vector'] as const;
export type QueryMode = (typeof QUERY_MODES)[number];
export const TEXT_OPERATORS = ['or', 'and', 'phrase'] as const;
export type TextOperator = (typeof TEXT_OPERATORS)[number];

export interface SearchRequest {
  mode: QueryMode;
  /** The question's words, for full text. */
  query: string;
  operator: TextOperator;
  /** The question's vector; null makes `hybrid` full text only. */
  vector: Float32Array | null;
  collections?: readonly string[];
  type?: ItemType;
  /** Restrict to these items. */
  source_ids?: readonly string[];
  /** Restrict by metadata. */
  metadata?: MetadataFilter;
  limit: number;
}

/** Best first; `score` is only comparable within one answer. */
export interface SearchHit {
  chunk_id: string;
  source_id: string;
  collection: string;
  score: number;
}

/** Derived data: everything in it can be written again from MongoDB. `table` is a database's internal id (`tnt_…`). */
export interface SearchIndex {
  /** Makes an empty table, unless there is one. */
  create(table: string): Promise<void>;
  /** Empties a table for a rebuild, vectors of another size included; makes it where it is missing. */
  clear(table: string): Promise<void>;
  exists(table: string): Promise<boolean>;
  /**
   * Adds rows, after taking out those with the chunk ids in `remove`. Appending is much cheaper, so name only what may
   * be there already (an earlier version's rows, or those of a write that is tried again).
   * Concurrent calls for one table ride in one commit. Resolves when searches of every process see the rows.
   */
  write(table: string, rows: readonly IndexRow[], remove?: readonly string[]): Promise<void>;
  /**
   * Rejects when the table does not exist.
   * @throws ServiceError SERVICE_UNAVAILABLE for a filter by metadata where rows were written before there were any
   */
  search(table: string, request: SearchRequest): Promise<SearchHit[]>;
  /** Folds new rows into the full-text index, indexes vectors once a table has grown, and drops old versions. */
  compact(table: string): Promise<void>;
  drop(table: string): Promise<void>;
  close(): Promise<void>;
}
