import type { EmbeddingModel } from './embedding-models.js';
import type { FilterableField } from './indexed-metadata.js';

export const SEARCH_ENGINES = ['lancedb', 'opensearch'] as const;
/** What holds the rows of a search index. */
export type SearchEngine = (typeof SEARCH_ENGINES)[number];

/** One search index of a database. A rebuild writes the next generation beside the current one. */
export interface IndexGeneration {
  /** From 1; never used twice for one database. */
  generation: number;
  /** The model of its vectors; null while it has none. */
  embeddings: EmbeddingModel | null;
  /** The version of the analysis of its texts: see `TEXT_ANALYSIS`. */
  analysis: number;
  /** Absent: LanceDB. */
  engine?: SearchEngine | undefined;
}

/**
 * How texts and queries become terms of full text. A change of the analysis gets the next number; indexes with another one are
 * searched by vectors only until they are rebuilt, because their terms differ.
 */
export const TEXT_ANALYSIS = 2;

/** @returns whether the texts of an index were analysed as this process analyses queries */
export function hasCurrentAnalysis({ analysis }: Pick<IndexGeneration, 'analysis'>): boolean {
  return analysis === TEXT_ANALYSIS;
}

/** An index that a rebuild writes. */
export interface NextIndex extends IndexGeneration {
  /** `rbd_…` */
  rebuild: string;
}

/** What writing index rows of a database needs. */
export interface IndexedDatabase {
  _id: string;
  org: string;
  metadata_schema: readonly FilterableField[];
  /** The index that queries read. */
  index: IndexGeneration;
  next_index?: NextIndex | undefined;
}

/** A generation, and where its rows are. */
export type IndexPlace = Pick<IndexGeneration, 'engine' | 'generation'>;

const IN_OPENSEARCH = 'opensearch:';

/** @returns the name of a generation's table, which shows its engine. The first in LanceDB has the database's internal id */
export function tableOf(databaseId: string, { generation, engine }: IndexPlace): string {
  const name = generation === 1 ? databaseId : `${databaseId}_${generation}`;
  return engine === 'opensearch' ? `${IN_OPENSEARCH}${name}` : name;
}

/** @param table made by `tableOf` @returns its engine, and its name there */
export function placeOf(table: string): { engine: SearchEngine; name: string } {
  return table.startsWith(IN_OPENSEARCH)
    ? { engine: 'opensearch', name: table.slice(IN_OPENSEARCH.length) }
    : { engine: 'lancedb', name: table };
}

/** @returns the indexes that rows are written to: the current one, and the one of a rebuild */
export function generationsOf({ index, next_index }: Pick<IndexedDatabase, 'index' | 'next_index'>): IndexGeneration[] {
  return next_index ? [index, next_index] : [index];
}
