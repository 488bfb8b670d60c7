import { MatchQuery, Operator, type Table, tokenize } from '@lancedb/lancedb';
import { fuseRankings } from '../../../domain/content/ranking.js';
import type { SearchHit, SearchRequest } from '../../../domain/content/search.js';
import { ServiceError } from '../../../domain/errors.js';
import { filterOf } from './filters.js';
import { dimensionsDiffer, dimensionsOf, spaced, WORDS } from './schema.js';

/**
 * Least length of a ranking by vectors, and of both that are fused: a chunk that is tenth in both should beat one that is
 * first in one, and the vector index must be asked for more than it should give, because it ranks by compressed vectors.
 */
const DEPTH = 100;
/** Candidates with all the words among which a phrase is looked for; the second time only where the first gave too few. */
const PHRASE_DEPTHS = [200, 2_000];
/** So many chunks with a phrase are enough: no answer shows more. */
const PHRASE_ENOUGH = 60;
/** A question's words beyond this do not make its answer better. */
const MAX_QUERY_CHARACTERS = 4_000;
/** Partitions of the vector index that are looked through at the least, and how many times the depth is compared exactly. */
const PROBES = 20;
const REFINE = 3;

const COLUMNS = ['chunk_id', 'source_id', 'collection'] as const;

interface Row extends Omit<SearchHit, 'score'> {
  _score?: number;
  _distance?: number;
  text?: string;
}

/** A request, and what the table said about it. */
interface Asked extends SearchRequest {
  /** SQL that holds the restrictions; every ranking is made within them. */
  where: string | null;
  /** Of the table's vectors; null when it has none. */
  dimensions: number | null;
}

/**
 * Answers one request from one table. Null vectors are in no vector ranking; a question without words finds nothing.
 * @throws ServiceError SERVICE_UNAVAILABLE for a filter by metadata where rows were written before there were any
 */
export async function searchTable(table: Table, question: SearchRequest): Promise<SearchHit[]> {
  if (question.limit <= 0) return [];
  const { limit } = question;
  const schema = await table.schema();
  const columns = new Set(schema.fields.map(({ name }) => name));
  if (question.metadata) await requireMetadata(table, columns);
  const request: Asked = { ...question, where: filterOf(question, columns), dimensions: dimensionsOf(schema) };
  switch (request.mode) {
    case 'text':
      return byWords(table, request, limit);
    case 'vector':
      return byVector(table, request, limit);
    case 'hybrid': {
      if (!request.vector) return byWords(table, request, limit);
      const depth = Math.max(limit, DEPTH);
      const [words, vectors] = await Promise.all([byWords(table, request, depth), byVector(table, request, depth)]);
      const hits = new Map([...words, ...vectors].map((hit) => [hit.chunk_id, hit]));
      return fuseRankings([words, vectors].map((ranking) => ranking.map(({ chunk_id }) => chunk_id)))
        .slice(0, limit)
        .map(({ key, score }) => ({ ...hits.get(key)!, score }));
    }
  }
}

async function byWords(table: Table, request: Asked, limit: number): Promise<SearchHit[]> {
  // The words go in as a query object, never as query syntax: there is nothing a client's text could break out of.
  const words = spaced(request.query.slice(0, MAX_QUERY_CHARACTERS));
  if (request.operator === 'phrase') return byPhrase(table, request, words, limit);
  const operator = request.operator === 'and' ? Operator.And : Operator.Or;
  return (await matches(table, request, words, operator, limit, false)).map(wordHit);
}

/** Chunks with all of the phrase's words, of which those are kept that have them side by side and in order. */
async function byPhrase(table: Table, request: Asked, words: string, limit: number): Promise<SearchHit[]> {
  const phrase = await tokenize(words, WORDS);
  if (phrase.length === 0) return [];
  let found: Row[] = [];
  for (const depth of PHRASE_DEPTHS) {
    const candidates = await matches(table, request, words, Operator.And, depth, true);
    const holds = await Promise.all(candidates.map(async ({ text }) => contains(await tokenize(text!, WORDS), phrase)));
    found = candidates.filter((_, at) => holds[at]);
    if (found.length >= Math.min(limit, PHRASE_ENOUGH) || candidates.length < depth) break;
  }
  return found.slice(0, limit).map(wordHit);
}

interface Token {
  text: string;
  position: number;
}

/** Positions count stop words too, so a phrase with one inside asks for a gap of one word. */
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
  request: Asked,
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

async function byVector(table: Table, request: Asked, limit: number): Promise<SearchHit[]> {
  const { vector, dimensions } = request;
  if (!vector || dimensions === null) return [];
  if (dimensions !== vector.length) throw dimensionsDiffer(dimensions, vector.length);
  const query = table
    .query()
    .nearestTo(vector)
    .column('vector')
    .distanceType('cosine')
    .minimumNprobes(PROBES)
    // As many more as a narrow filter needs until there are enough.
    .maximumNprobes(0)
    .refineFactor(REFINE);
  const rows = (await (request.where ? query.where(request.where) : query)
    .select([...COLUMNS, '_distance'])
    .limit(Math.max(limit, DEPTH))
    .toArray()) as Row[];
  return rows.slice(0, limit).map((row) => hit(row, 1 - row._distance!));
}

function wordHit(row: Row): SearchHit {
  return hit(row, row._score!);
}

function hit({ chunk_id, source_id, collection }: Row, score: number): SearchHit {
  return { chunk_id, source_id, collection, score };
}

/** Tables in which every row has been seen to have tags: that stays so. */
const complete = new WeakSet<Table>();

/** Rows of before there were tags would silently be missing from every filtered answer. */
async function requireMetadata(table: Table, columns: ReadonlySet<string>): Promise<void> {
  if (complete.has(table)) return;
  if (columns.has('tags') && (await table.countRows("tags IS NULL AND chunk_id != ''")) === 0) {
    complete.add(table);
    return;
  }
  throw new ServiceError(
    'SERVICE_UNAVAILABLE',
    'This database was indexed before its metadata could be filtered by; its operator can run "postback index rebuild".',
  );
}
