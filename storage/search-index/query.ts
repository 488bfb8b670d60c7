import { MatchQuery, Operator, type Table, tokenize } from '@lancedb/lancedb';
import { fuseRankings } from '../../domain/rank-fusion.js';
import type { SearchHit, SearchRequest } from '../../domain/search.js';
import { filterOf } from './filters.js';
import { dimensionsDiffer, dimensionsOf, spaced, WORDS } from './schema.js';

/**
 * Least length of a ranking by vectors, and of both that are fused: a chunk that is tenth in both should beat one that is
 * first in one, and the vector index must be asked for more than it should give, because it ranks by compressed vectors.
 */
const DEPTH = 100;
/** Candidates with all the words among which a phrase is looked for; the second time only where the first gave too few. */
const PHRASE_DEPTHS = [200, 2_000];
/** A question's words beyond this do not make its answer better. */
const MAX_QUERY_CHARACTERS = 4_000;
/** Partitions of the vector index that are looked through at the least, and how many times the depth is compared exactly. */
const PROBES = 20;
const REFINE = 3;

interface Row {
  chunk_id: string;
  source_id: string;
  _score?: number;
  _distance?: number;
  text?: string;
}

/** Answers one request from one table. Null vectors are in no vector ranking; a question without words finds nothing. */
export async function searchTable(table: Table, request: SearchRequest): Promise<SearchHit[]> {
  if (request.limit <= 0) return [];
  const { limit } = request;
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

async function byWords(table: Table, request: SearchRequest, limit: number): Promise<SearchHit[]> {
  // The words go in as a query object, never as query syntax: there is nothing a client's text could break out of.
  const words = spaced(request.query.slice(0, MAX_QUERY_CHARACTERS));
  if (request.operator === 'phrase') return byPhrase(table, request, words, limit);
  const operator = request.operator === 'and' ? Operator.And : Operator.Or;
  return (await matches(table, request, words, operator, limit, false)).map(wordHit);
}

/** Chunks with all of the phrase's words, of which those are kept that have them side by side and in order. */
async function byPhrase(table: Table, request: SearchRequest, words: string, limit: number): Promise<SearchHit[]> {
  const phrase = await tokenize(words, WORDS);
  if (phrase.length === 0) return [];
  let found: Row[] = [];
  for (const depth of PHRASE_DEPTHS) {
    const candidates = await matches(table, request, words, Operator.And, depth, true);
    const holds = await Promise.all(candidates.map(async ({ text }) => contains(await tokenize(text!, WORDS), phrase)));
    found = candidates.filter((_, at) => holds[at]);
    if (found.length >= limit || candidates.length < depth) break;
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
  request: SearchRequest,
  words: string,
  operator: Operator,
  limit: number,
  withText: boolean,
): Promise<Row[]> {
  const columns = ['chunk_id', 'source_id', '_score', ...(withText ? ['text'] : [])];
  const query = table
    .query()
    .fullTextSearch(new MatchQuery(words, 'text', { operator }))
    .select(columns)
    .limit(limit);
  const filter = filterOf(request);
  return (await (filter ? query.where(filter) : query).toArray()) as Row[];
}

async function byVector(table: Table, request: SearchRequest, limit: number): Promise<SearchHit[]> {
  const { vector } = request;
  if (!vector) return [];
  const dimensions = dimensionsOf(await table.schema());
  if (dimensions === null) return [];
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
  const filter = filterOf(request);
  const rows = (await (filter ? query.where(filter) : query)
    .select(['chunk_id', 'source_id', '_distance'])
    .limit(Math.max(limit, DEPTH))
    .toArray()) as Row[];
  return rows
    .slice(0, limit)
    .map(({ chunk_id, source_id, _distance }) => ({ chunk_id, source_id, score: 1 - _distance! }));
}

function wordHit({ chunk_id, source_id, _score }: Row): SearchHit {
  return { chunk_id, source_id, score: _score! };
}
