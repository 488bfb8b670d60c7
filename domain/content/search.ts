/** Types shared by the search index, the embedders and retrieval. */
import type { IndexedMetadata } from './indexed-metadata.js';
import type { TextLanguage } from './languages.js';
import type { MetadataFilter } from './metadata-filters.js';

/** Turns text into vectors; implemented in `providers/embeddings/`. */
export interface Embedder {
  /** Model name, as operators know it. */
  readonly model: string;
  readonly dimensions: number;
  /**
   * @param org whose texts they are; organisations take turns
   * @returns one unit-length vector per text, in order
   * @throws EmbeddingError
   */
  embedDocuments(texts: readonly string[], signal?: AbortSignal, org?: string): Promise<Float32Array[]>;
  /**
   * Separate from documents, because some models (bge) need a prefix for queries.
   * @param org who asks; organisations take turns
   * @throws EmbeddingError
   */
  embedQuery(text: string, signal?: AbortSignal, org?: string): Promise<Float32Array>;
  close(): Promise<void>;
}

export const ITEM_TYPES = ['knowledge', 'memory'] as const;
export type ItemType = (typeof ITEM_TYPES)[number];

/** A row of the search index. Responses contain the text in MongoDB, found by `chunk_id`. */
export interface IndexRow {
  chunk_id: string;
  /** The client's id of the item. */
  source_id: string;
  collection: string;
  type: ItemType;
  /** The text for full-text search: title, headings and text. */
  text: string;
  /** The language of the text, which decides its stems; English when absent. */
  language?: TextLanguage | undefined;
  /** Null without an embedding model. */
  vector: Float32Array | null;
  /** Metadata of the item, so that a search can filter by it. */
  metadata: IndexedMetadata;
  /** `rows_revision` of the item as it was read. An engine that compares it keeps the row of the higher one. */
  revision?: number | undefined;
}

export const QUERY_MODES = ['hybrid', 'text', 'vector'] as const;
export type QueryMode = (typeof QUERY_MODES)[number];
export const TEXT_OPERATORS = ['or', 'and', 'phrase'] as const;
export type TextOperator = (typeof TEXT_OPERATORS)[number];

export interface SearchRequest {
  mode: QueryMode;
  /** The text of the query, for full-text search. */
  query: string;
  operator: TextOperator;
  /** The vector of the query. With null, `hybrid` is full text only. */
  vector: Float32Array | null;
  collections?: readonly string[];
  type?: ItemType;
  /** Only these items; an empty list matches no row. */
  sources?: readonly SourceFilter[];
  /** Not these items. */
  without?: readonly SourceFilter[];
  /** Only items with matching metadata. */
  metadata?: MetadataFilter;
  limit: number;
}

/** Items by the client's ids. */
export interface SourceFilter {
  /** Absent: items with these ids in any collection. */
  collection?: string;
  ids: readonly string[];
}

/** What identifies an item within its database: the client's id is unique within its collection. */
export interface SourceName {
  collection: string;
  source_id: string;
}

/** A hit. Scores are comparable only within one ranking. */
export interface SearchHit {
  chunk_id: string;
  score: number;
  /** The score in the ranking by text, from 0 to 1; absent when the hit is not in it. */
  text_score?: number;
  /** The same for the ranking by vectors. */
  vector_score?: number;
}

/** The search index could not be reached, or failed. Another attempt may succeed. */
export class SearchIndexError extends Error {
  override readonly name = 'SearchIndexError';
}

/** The search index. It can be rebuilt from MongoDB at any time. `table` is made by `tableOf`. */
export interface SearchIndex {
  /** Creates an empty table, unless it exists. */
  create(table: string): Promise<void>;
  /** Creates or empties a table for a rebuild. The new vectors may have other dimensions. */
  clear(table: string): Promise<void>;
  exists(table: string): Promise<boolean>;
  /**
   * Deletes the rows with the chunk ids in `remove`, then adds rows. A row in both is replaced: a search finds it before or
   * after. Adding alone is much cheaper, so `remove` should contain only rows that may exist: of an earlier version, or of an
   * earlier attempt at this write. Concurrent calls for one table share a commit. Resolves when searches of every process see the rows.
   */
  write(table: string, rows: readonly IndexRow[], remove?: readonly string[]): Promise<void>;
  /**
   * @returns hits, best first, with scores from 0 to 1: BM25 or cosine similarity scaled within the result, or both fused
   * (`fusion.ts`)
   * @throws Error when the table does not exist
   */
  search(table: string, request: SearchRequest): Promise<SearchHit[]>;
  /** Loads the parts of the index that every search needs, so that the next search does not wait for it. @throws Error when the table does not exist */
  warm(table: string): Promise<void>;
  /** Adds new rows to the full-text index, creates the vector index of a large table, and drops old versions. */
  compact(table: string): Promise<void>;
  /** Does nothing when the table does not exist. */
  drop(table: string): Promise<void>;
  close(): Promise<void>;
}
