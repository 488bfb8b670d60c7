import { BooleanQuery, type FullTextQuery, MatchQuery, Occur, Operator, type Table } from '@lancedb/lancedb';
import type { VectorHit } from '../../../../domain/content/fusion.js';
import type { SearchHit, SearchRequest } from '../../../../domain/content/search.js';
import type { TextAnalysis } from '../analysis.js';
import { languagesOf } from '../columns.js';
import { rankedSearch, type TableSearch, type TextHit, type WordQuery } from '../ranked-search.js';
import { unitVector } from '../vectors.js';
import { filterOf } from './filters.js';
import { cosineWith, type RowReader, rowIdsOf } from './rows.js';
import { dimensionsOf, epochOf } from './schema.js';

/** Minimum number of partitions of the vector index that are searched. */
const PROBES = 20;
/** Candidates of a vector index that are compared exactly, as a multiple of the limit. */
const REFINE = 3;
/** Searches of one request: again, when rows have been removed or moved before they were read. */
const MAX_SEARCHES = 3;

/** One run of a search over one version of a table. */
interface SearchRun extends Pick<TableState, 'dimensions' | 'hasVectorIndex' | 'epoch'> {
  table: Table;
  readRows: RowReader;
  /** The restrictions as SQL; null without restrictions. */
  where: string | null;
  /** Whether a row that was found could not be read. */
  outdated: boolean;
}

/** A table, how its texts are analysed, and how its rows are read. */
export interface SearchedTable {
  table: Table;
  analysis: TextAnalysis;
  readRows: RowReader;
}

/** Searches one table. @returns hits, best first */
export async function searchTable(
  { table, analysis, readRows }: SearchedTable,
  request: SearchRequest,
): Promise<SearchHit[]> {
  const state = await stateOf(table);
  for (let searches = 1; ; searches += 1) {
    const run: SearchRun = { ...state, table, readRows, where: filterOf(request, state.columns), outdated: false };
    const search: TableSearch = {
      languages: languagesOf(state.columns),
      dimensions: state.dimensions,
      byTerms: (words, limit, withTexts) => byTerms(run, words, limit, withTexts),
      byVector: (vector, limit) => byVector(run, vector, limit),
    };
    // Rows are ranked with their row ids in the place of chunk ids, which are read of those in the result only.
    const hits = await withChunkIds(run, await rankedSearch(search, analysis, request));
    if (!run.outdated || searches === MAX_SEARCHES) return hits;
  }
}

/** What all searches of one version of a table need to know. */
interface TableState {
  columns: ReadonlySet<string>;
  /** Dimensions of the vectors; null when the table has none. */
  dimensions: number | null;
  /** Without an index, every vector is compared exactly. */
  hasVectorIndex: boolean;
  epoch: string;
}

/** Reading a schema takes a millisecond, so the state is kept until the table's version changes. */
const states = new WeakMap<Table, { version: number; state: TableState }>();

async function stateOf(table: Table): Promise<TableState> {
  const version = await table.version();
  const known = states.get(table);
  if (known?.version === version) return known.state;
  const [schema, indices] = await Promise.all([table.schema(), table.listIndices()]);
  const state: TableState = {
    columns: new Set(schema.fields.map(({ name }) => name)),
    dimensions: dimensionsOf(schema),
    hasVectorIndex: indices.some(({ columns }) => columns.includes('vector')),
    epoch: epochOf(schema),
  };
  states.set(table, { version, state });
  return state;
}

/** Loads the indexes of words and vectors, and the other files that a search opens. */
export async function warmTable(searched: SearchedTable): Promise<void> {
  const { table } = searched;
  const indices = await table.listIndices();
  for (const { name, columns } of indices) {
    if (columns.some((column) => column === 'text' || column === 'vector')) await table.prewarmIndex(name);
  }
  const dimensions = dimensionsOf(await table.schema());
  const vector = dimensions === null ? null : new Float32Array(dimensions).fill(1 / Math.sqrt(dimensions));
  await searchTable(searched, { mode: 'hybrid', query: 'warm', operator: 'or', vector, limit: 1 });
}

/** The terms are passed as query objects, not as query syntax, so a client's text cannot inject operators. */
function termsQuery(words: WordQuery): FullTextQuery {
  if ('any' in words) return new MatchQuery(words.any, 'text', { operator: Operator.Or });
  const queries = words.all.map((terms) => new MatchQuery(terms, 'text', { operator: Operator.And }));
  if (queries.length === 1) return queries[0]!;
  return new BooleanQuery(queries.map((query): [Occur, FullTextQuery] => [Occur.Should, query]));
}

async function byTerms(
  { table, where }: SearchRun,
  words: WordQuery,
  limit: number,
  withTexts = false,
): Promise<TextHit[]> {
  const columns = withTexts ? ['text', '_score'] : ['_score'];
  const query = table.query().fullTextSearch(termsQuery(words)).select(columns).limit(limit);
  const found = await (where ? query.where(where) : query).withRowId().toArrow();
  if (found.numRows === 0) return [];
  const scores = found.getChild('_score')!.toArray() as Float32Array;
  const texts = found.getChild('text');
  return rowIdsOf(found).map((id, at) => ({ chunk_id: id, score: scores[at]!, text: texts?.get(at) }));
}

async function byVector(run: SearchRun, vector: Float32Array, limit: number): Promise<VectorHit[]> {
  const { table, where, hasVectorIndex } = run;
  const query = table
    .query()
    .nearestTo(vector)
    .column('vector')
    .distanceType('cosine')
    .minimumNprobes(PROBES)
    // Without a maximum, so that a narrow filter still gets enough rows.
    .maximumNprobes(0)
    .select(['_distance'])
    .limit(hasVectorIndex ? limit * REFINE : limit);
  const found = await (where ? query.where(where) : query).withRowId().toArrow();
  if (found.numRows === 0) return [];
  const ids = rowIdsOf(found);
  const rows = await run.readRows(run, ids);
  if (rows.includes(undefined)) run.outdated = true;
  const unit = unitVector(vector);
  const scores = rows.map((row) => (row?.vector ? cosineWith(unit, row.vector) : null));
  return [...ids.keys()]
    .filter((at) => scores[at] !== null)
    .sort((a, b) => scores[b]! - scores[a]!)
    .slice(0, limit)
    .map((at) => ({ chunk_id: ids[at]!, score: scores[at]!, vector: rows[at]!.vector! }));
}

/** @returns the hits with the ids of their chunks, without rows that another version of the table lacks */
async function withChunkIds(run: SearchRun, hits: readonly SearchHit[]): Promise<SearchHit[]> {
  const rows = await run.readRows(
    run,
    hits.map(({ chunk_id }) => chunk_id),
  );
  if (rows.includes(undefined)) run.outdated = true;
  return hits.flatMap((hit, at) => {
    const row = rows[at];
    return row ? [{ ...hit, chunk_id: row.chunk_id }] : [];
  });
}
