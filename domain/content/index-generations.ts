import type { EmbeddingModel } from './embedding-models.js';
import type { FilterableField } from './indexed-metadata.js';

/** One search index of a database. A rebuild writes the next generation beside the current one. */
export interface IndexGeneration {
  /** From 1; never used twice for one database. */
  generation: number;
  /** The model of its vectors; null while it has none. */
  embeddings: EmbeddingModel | null;
  /** The version of the analysis of its texts: see `TEXT_ANALYSIS`. */
  analysis: number;
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
  embeddings: EmbeddingModel;
  /** `rbd_…` */
  rebuild: string;
}

/** What writing index rows of a database needs. */
export interface IndexedDatabase {
  _id: string;
  metadata_schema: readonly FilterableField[];
  /** The index that queries read. */
  index: IndexGeneration;
  next_index?: NextIndex | undefined;
}

/** @returns the name of a generation's table. The first has the database's internal id */
export function tableOf(databaseId: string, { generation }: Pick<IndexGeneration, 'generation'>): string {
  return generation === 1 ? databaseId : `${databaseId}_${generation}`;
}

/** @returns the indexes that rows are written to: the current one, and the one of a rebuild */
export function generationsOf({ index, next_index }: Pick<IndexedDatabase, 'index' | 'next_index'>): IndexGeneration[] {
  return next_index ? [index, next_index] : [index];
}
