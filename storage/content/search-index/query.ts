import { BooleanQuery, type FullTextQuery, MatchQuery, Occur, Operator, type Table } from '@lancedb/lancedb';
import { fuse, LIST_DEPTH, textRelevance, type VectorHit, vectorRelevance } from '../../../domain/content/fusion.js';
import type { TextLanguage } from '../../../domain/content/languages.js';
import type { SearchHit, SearchRequest } from '../../../domain/content/search.js';
import { ServiceError } from '../../../domain/errors.js';
import { type AnalysedQuery, containsPhrase, type TextAnalysis } from './analysis.js';
import { filterOf } from './filters.js';
import { dimensionsDiffer, dimensionsOf, languagesOf } from './schema.js';

/** Candidates with all words that are checked for a phrase; the second number is used when the first gives too few hits. */
const PHRASE_DEPTHS = [200, 2_000];
/** Chunks with the phrase that are enough: no response shows more. */
const PHRASE_ENOUGH = 60;
/** Minimum number of partitions of the vector index that are searched. */
const PROBES = 20;
/** Candidates that are compared exactly, as a multiple of the limit. */
const REFINE = 3;

const COLUMNS = ['chunk_id', 'source_id', 'collection'] as const;

interface Row extends Omit<SearchHit, 'score'> {
  _score?: number;
  _distance?: number;
  text?: string;
}

/** The vector is still in the columns that LanceDB returned. */
interface VectorRow extends Row {
  vector: { toArray(): Float32Array };
}

/** A request, with the settings that follow from the table's schema. */
interface PlannedSearch extends SearchRequest {
  /** The restrictions as SQL; null without restrictions. Every ranking contains only rows that match. */
  where: string | null;
  /** Dimensions of the table's vectors; null when it has none. */
  dimensions: number | null;
  /** The languages of the table's texts. */
  languages: readonly TextLanguage[];
}

/** A table, and how its texts are analysed. */
export interface SearchedTable {
  table: Table;
  analysis: TextAnalysis;
}

/**
 * Searches one table. Rows without a vector are in no vector ranking; a text search without words finds nothing.
 * @returns hits, best first
 * @throws ServiceError SERVICE_UNAVAILABLE for a metadata filter when rows were written before filters existed
 */
export async function searchTable(searched: SearchedTable, search: SearchRequest): Promise<SearchHit[]> {
  const { table } = searched;
  if (search.limit <= 0) return [];
  const { limit } = search;
  // Scores are scaled within a ranking, so a small limit must not shorten it.
  const depth = Math.max(limit, LIST_DEPTH);
  const schema = await schemaOf(table);
  const columns = new Set(schema.fields.map(({ name }) => name));
  if (search.metadata) await requireMetadata(table, columns);
  const request: PlannedSearch = {
    ...search,
    where: filterOf(search, columns),
    dimensions: dimensionsOf(schema),
    languages: languagesOf(schema),
  };
  switch (request.mode) {
    case 'text':
      return textRelevance(await byWords(searched, request, depth)).slice(0, limit);
    case 'vector':
      return vectorRelevance(await byVector(table, request, depth)).slice(0, limit);
    case 'hybrid': {
      const [words, vectors] = await Promise.all([byWords(searched, request, depth), byVector(table, request, depth)]);
      return (request.vector ? fuse(words, vectors, request.vector) : textRelevance(words)).slice(0, limit);
    }
  }
}

type TableSchema = Awaited<ReturnType<Table['schema']>>;

/** Reading a schema takes a millisecond, so it is kept until the table's version changes. */
const schemas = new WeakMap<Table, { version: number; schema: TableSchema }>();

async function schemaOf(table: Table): Promise<TableSchema> {
  const version = await table.version();
  const known = schemas.get(table);
  if (known?.version === version) return known.schema;
  const schema = await table.schema();
  schemas.set(table, { version, schema });
  return schema;
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

/**
 * The terms are passed as query objects, not as query syntax, so a client's text cannot inject operators.
 * @returns hits by BM25
 */
async function byWords(
  { table, analysis }: SearchedTable,
  request: PlannedSearch,
  limit: number,
): Promise<SearchHit[]> {
  const query = await analysis.analyseQuery(request.query, request.languages);
  switch (request.operator) {
    case 'or':
      return (await matches(table, request, anyOf(query), { limit })).map(wordHit);
    case 'and':
      return (await matches(table, request, allOf(query), { limit })).map(wordHit);
    case 'phrase':
      return byPhrase(table, request, query, limit);
  }
}

function anyOf({ any }: AnalysedQuery): FullTextQuery | null {
  return any === '' ? null : new MatchQuery(any, 'text', { operator: Operator.Or });
}

function allOf({ all }: AnalysedQuery): FullTextQuery | null {
  const queries = all.map((terms) => new MatchQuery(terms, 'text', { operator: Operator.And }));
  if (queries.length < 2) return queries[0] ?? null;
  return new BooleanQuery(queries.map((query): [Occur, FullTextQuery] => [Occur.Should, query]));
}

/** Finds chunks with all words of the phrase, and keeps those that have the words next to each other and in order. */
async function byPhrase(
  table: Table,
  request: PlannedSearch,
  query: AnalysedQuery,
  limit: number,
): Promise<SearchHit[]> {
  let found: Row[] = [];
  for (const depth of PHRASE_DEPTHS) {
    const candidates = await matches(table, request, allOf(query), { limit: depth, withText: true });
    found = candidates.filter(({ text }) => containsPhrase(text!, query));
    if (found.length >= Math.min(limit, PHRASE_ENOUGH) || candidates.length < depth) break;
  }
  return found.slice(0, limit).map(wordHit);
}

async function matches(
  table: Table,
  { where }: PlannedSearch,
  words: FullTextQuery | null,
  { limit, withText = false }: { limit: number; withText?: boolean },
): Promise<Row[]> {
  if (words === null) return [];
  const columns = [...COLUMNS, '_score', ...(withText ? ['text'] : [])];
  const query = table.query().fullTextSearch(words).select(columns).limit(limit);
  return (await (where ? query.where(where) : query).toArray()) as Row[];
}

async function byVector(table: Table, request: PlannedSearch, limit: number): Promise<VectorHit[]> {
  const { vector, dimensions } = request;
  if (!vector || dimensions === null) return [];
  if (dimensions !== vector.length) throw dimensionsDiffer(dimensions, vector.length);
  const query = table
    .query()
    .nearestTo(vector)
    .column('vector')
    .distanceType('cosine')
    .minimumNprobes(PROBES)
    // Without a maximum, so that a narrow filter still gets enough rows.
    .maximumNprobes(0)
    .refineFactor(REFINE);
  const found = await (request.where ? query.where(request.where) : query)
    .select([...COLUMNS, 'vector', '_distance'])
    .limit(limit)
    .toArray();
  return (found as VectorRow[]).map((row) => ({ ...hit(row, 1 - row._distance!), vector: row.vector.toArray() }));
}

function wordHit(row: Row): SearchHit {
  return hit(row, row._score!);
}

function hit({ chunk_id, source_id, collection }: Row, score: number): SearchHit {
  return { chunk_id, source_id, collection, score };
}

/** Tables whose rows all have tags. Rows without tags are not written any more, so this stays true. */
const tablesWithTags = new WeakSet<Table>();

/** Rejects a table with rows from before tags existed, because filtered results would silently lack these rows. */
async function requireMetadata(table: Table, columns: ReadonlySet<string>): Promise<void> {
  if (tablesWithTags.has(table)) return;
  if (columns.has('tags') && (await table.countRows("tags IS NULL AND chunk_id != ''")) === 0) {
    tablesWithTags.add(table);
    return;
  }
  throw new ServiceError(
    'SERVICE_UNAVAILABLE',
    'The index of this database does not support metadata filters yet. An operator can rebuild it with "postback index rebuild".',
  );
}
