import type { Comparison, MetadataFilter } from '../../../../domain/content/metadata-filters.js';
import type { SearchRequest, SourceFilter } from '../../../../domain/content/search.js';
import { rangeColumn } from '../columns.js';

/** A query in OpenSearch's form. */
export type Query = Record<string, unknown>;

/** Terms that OpenSearch accepts in one query (`index.max_terms_count`). */
const MAX_TERMS = 65_536;
const NOTHING: Query = { match_none: {} };
const RANGES: Record<Comparison, string> = { '>': 'gt', '>=': 'gte', '<': 'lt', '<=': 'lte' };

/**
 * A range over a field that the index lacks matches no row.
 * @returns queries that a row must match all. An empty list of collections or sources matches no row
 */
export function filtersOf(request: SearchRequest): Query[] {
  const { collections, type, sources, without, metadata } = request;
  return [
    ...(collections ? [oneOf('collection', collections)] : []),
    ...(type ? [{ term: { type } }] : []),
    ...(sources ? [anyOf(sources.map(sourceQuery))] : []),
    ...(without ? [{ bool: { must_not: without.map(sourceQuery) } }] : []),
    ...(metadata ? [metadataQuery(metadata)] : []),
  ];
}

function sourceQuery({ collection, ids }: SourceFilter): Query {
  const named = oneOf('source_id', ids);
  return collection === undefined ? named : allOf([{ term: { collection } }, named]);
}

function metadataQuery(filter: MetadataFilter): Query {
  const queries = (parts: readonly MetadataFilter[]) => parts.map(metadataQuery);
  if ('all' in filter) return allOf(queries(filter.all));
  if ('any' in filter) return anyOf(queries(filter.any));
  if ('not' in filter) return { bool: { must_not: [metadataQuery(filter.not)] } };
  if ('tags' in filter) return oneOf('tags', filter.tags);
  const { field, comparison, value } = filter;
  const column = rangeColumn(typeof value === 'number' ? 'number' : 'text', field);
  return { range: { [column]: { [RANGES[comparison]]: value } } };
}

function oneOf(column: string, values: readonly string[]): Query {
  if (values.length <= MAX_TERMS) return { terms: { [column]: values } };
  return anyOf([oneOf(column, values.slice(0, MAX_TERMS)), oneOf(column, values.slice(MAX_TERMS))]);
}

function allOf(queries: readonly Query[]): Query {
  return queries.length === 0 ? { match_all: {} } : { bool: { filter: queries } };
}

export function anyOf(queries: readonly Query[]): Query {
  return queries.length === 0 ? NOTHING : { bool: { should: queries, minimum_should_match: 1 } };
}
