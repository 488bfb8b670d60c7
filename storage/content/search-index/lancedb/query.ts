import { BooleanQuery, type FullTextQuery, MatchQuery, Occur, Operator, type Table } from '@lancedb/lancedb';
import type { VectorHit } from '../../../../domain/content/fusion.js';
import type { SearchHit, SearchRequest } from '../../../../domain/content/search.js';
import { ServiceError } from '../../../../domain/errors.js';
import type { TextAnalysis } from '../analysis.js';
import { languagesOf } from '../columns.js';
import { rankedSearch, type TableSearch, type WordQuery } from '../ranked-search.js';
import { dimensionsDiffer } from '../vectors.js';
import { filterOf } from './filters.js';
import { dimensionsOf } from './schema.js';

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

/** What the table's schema and the request decide. */
interface Plan {
  /** The restrictions as SQL; null without restrictions. */
  where: string | null;
  /** Dimensions of the table's vectors; null when it has none. */
  dimensions: number | null;
}

/** A table, and how its texts are analysed. */
export interface SearchedTable {
  table: Table;
  analysis: TextAnalysis;
}

/**
 * Searches one table.
 * @returns hits, best first
 * @throws ServiceError SERVICE_UNAVAILABLE for a metadata filter when rows were written before filters existed
 */
export async function searchTable({ table, analysis }: SearchedTable, request: SearchRequest): Promise<SearchHit[]> {
  if (request.limit <= 0) return [];
  const schema = await schemaOf(table);
  const columns = new Set(schema.fields.map(({ name }) => name));
  if (request.metadata) await requireMetadata(table, columns);
  const plan: Plan = { where: filterOf(request, columns), dimensions: dimensionsOf(schema) };
  const search: TableSearch = {
    languages: languagesOf(columns),
    byTerms: async (words, limit) => (await matches(table, plan, words, { limit })).map(wordHit),
    textsByTerms: async (words, limit) =>
      (await matches(table, plan, words, { limit, withText: true })).map((row) => ({
        ...wordHit(row),
        text: row.text!,
      })),
    byVector: (vector, limit) => byVector(table, plan, vector, limit),
  };
  return rankedSearch(search, analysis, request);
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

/** The terms are passed as query objects, not as query syntax, so a client's text cannot inject operators. */
function termsQuery(words: WordQuery): FullTextQuery {
  if ('any' in words) return new MatchQuery(words.any, 'text', { operator: Operator.Or });
  const queries = words.all.map((terms) => new MatchQuery(terms, 'text', { operator: Operator.And }));
  if (queries.length === 1) return queries[0]!;
  return new BooleanQuery(queries.map((query): [Occur, FullTextQuery] => [Occur.Should, query]));
}

async function matches(
  table: Table,
  { where }: Plan,
  words: WordQuery,
  { limit, withText = false }: { limit: number; withText?: boolean },
): Promise<Row[]> {
  const columns = [...COLUMNS, '_score', ...(withText ? ['text'] : [])];
  const query = table.query().fullTextSearch(termsQuery(words)).select(columns).limit(limit);
  return (await (where ? query.where(where) : query).toArray()) as Row[];
}

async function byVector(
  table: Table,
  { where, dimensions }: Plan,
  vector: Float32Array,
  limit: number,
): Promise<VectorHit[]> {
  if (dimensions === null) return [];
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
  const found = await (where ? query.where(where) : query)
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
