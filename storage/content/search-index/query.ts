import { MatchQuery, Operator, type Table, tokenize } from '@lancedb/lancedb';
import { fuse, LIST_DEPTH, textRelevance, type VectorHit, vectorRelevance } from '../../../domain/content/fusion.js';
import type { SearchHit, SearchRequest } from '../../../domain/content/search.js';
import { ServiceError } from '../../../domain/errors.js';
import { filterOf } from './filters.js';
import { dimensionsDiffer, dimensionsOf, spaced, WORDS } from './schema.js';

/** Candidates with all words that are checked for a phrase; the second number is used when the first gives too few hits. */
const PHRASE_DEPTHS = [200, 2_000];
/** Chunks with the phrase that are enough: no response shows more. */
const PHRASE_ENOUGH = 60;
/** Characters of a query that are searched; more words do not improve the result. */
const MAX_QUERY_CHARACTERS = 4_000;
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

/** A request with what the table's schema decides. */
interface PlannedSearch extends SearchRequest {
  /** The restrictions as SQL; null without restrictions. Every ranking contains only rows that match. */
  where: string | null;
  /** Dimensions of the table's vectors; null when it has none. */
  dimensions: number | null;
}

/**
 * Searches one table. Rows without a vector are in no vector ranking; a text search without words finds nothing.
 * @returns hits, best first
 * @throws ServiceError SERVICE_UNAVAILABLE for a metadata filter when rows were written before filters existed
 */
export async function searchTable(table: Table, search: SearchRequest): Promise<SearchHit[]> {
  if (search.limit <= 0) return [];
  const { limit } = search;
  // Scores are scaled within a ranking, so a small limit must not shorten it.
  const depth = Math.max(limit, LIST_DEPTH);
  const schema = await schemaOf(table);
  const columns = new Set(schema.fields.map(({ name }) => name));
  if (search.metadata) await requireMetadata(table, columns);
  const request: PlannedSearch = { ...search, where: filterOf(search, columns), dimensions: dimensionsOf(schema) };
  switch (request.mode) {
    case 'text':
      return textRelevance(await byWords(table, request, depth)).slice(0, limit);
    case 'vector':
      return vectorRelevance(await byVector(table, request, depth)).slice(0, limit);
    case 'hybrid': {
      const [words, vectors] = await Promise.all([byWords(table, request, depth), byVector(table, request, depth)]);
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

/** Loads the indexes of words and vectors, and what else a search opens. */
export async function warmTable(table: Table): Promise<void> {
  const indices = await table.listIndices();
  for (const { name, columns } of indices) {
    if (columns.some((column) => column === 'text' || column === 'vector')) await table.prewarmIndex(name);
  }
  const dimensions = dimensionsOf(await table.schema());
  const vector = dimensions === null ? null : new Float32Array(dimensions).fill(1 / Math.sqrt(dimensions));
  await searchTable(table, { mode: 'hybrid', query: 'warm', operator: 'or', vector, limit: 1 });
}

async function byWords(table: Table, request: PlannedSearch, limit: number): Promise<SearchHit[]> {
  // The words are passed as a query object, not as query syntax, so a client's text cannot inject operators.
  const words = spaced(request.query.slice(0, MAX_QUERY_CHARACTERS));
  if (request.operator === 'phrase') return byPhrase(table, request, words, limit);
  const operator = request.operator === 'and' ? Operator.And : Operator.Or;
  return (await matches(table, request, words, operator, limit, false)).map(wordHit);
}

/** Finds chunks with all words of the phrase, and keeps those that have the words next to each other and in order. */
async function byPhrase(table: Table, request: PlannedSearch, words: string, limit: number): Promise<SearchHit[]> {
  const phrase = await tokenize(words, WORDS);
  if (phrase.length === 0) return [];
  let found: Row[] = [];
  for (const depth of PHRASE_DEPTHS) {
    const candidates = await matches(table, request, words, Operator.And, depth, true);
    const matching = await Promise.all(
      candidates.map(async ({ text }) => contains(await tokenize(text!, WORDS), phrase)),
    );
    found = candidates.filter((_, index) => matching[index]);
    if (found.length >= Math.min(limit, PHRASE_ENOUGH) || candidates.length < depth) break;
  }
  return found.slice(0, limit).map(wordHit);
}

interface Token {
  text: string;
  position: number;
}

/** Positions count stop words, so a phrase with a stop word inside matches a gap of one word. */
function contains(text: readonly Token[], phrase: readonly Token[]): boolean {
  const at = new Map(text.map((token) => [token.position, token.text]));
  const [first] = phrase;
  return text.some(
    (start) =>
      start.text === first!.text &&
      phrase.every((token) => at.get(start.position + token.position - first!.position) === token.text),
  );
}

async function matches(
  table: Table,
  request: PlannedSearch,
  words: string,
  operator: Operator,
  limit: number,
  withText: boolean,
): Promise<Row[]> {
  const columns = [...COLUMNS, '_score', ...(withText ? ['text'] : [])];
  const query = table
    .query()
    .fullTextSearch(new MatchQuery(words, 'text', { operator }))
    .select(columns)
    .limit(limit);
  return (await (request.where ? query.where(request.where) : query).toArray()) as Row[];
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
