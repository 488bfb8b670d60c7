import type { SearchRequest, SourceRef } from '../../domain/search.js';

/** Sources named in one delete; a longer predicate costs more to parse than a second delete. */
const SOURCES_A_PREDICATE = 500;

/** An SQL string literal. DataFusion knows no backslash escapes: doubling the quote is all there is. */
export function literal(value: string): string {
  return `'${value.replaceAll("'", "''")}'`;
}

/** @returns null when the request restricts nothing; an empty list of collections or sources lets nothing through */
export function filterOf({ collections, type, source_ids }: SearchRequest): string | null {
  const parts: string[] = [];
  if (collections) parts.push(oneOf('collection', collections));
  if (type) parts.push(`type = ${literal(type)}`);
  if (source_ids) parts.push(oneOf('source_id', source_ids));
  return parts.length === 0 ? null : parts.join(' AND ');
}

/** Predicates that together name every row of these sources. */
export function* predicatesOf(sources: readonly SourceRef[]): Generator<string> {
  for (let start = 0; start < sources.length; start += SOURCES_A_PREDICATE) {
    const byCollection = new Map<string, string[]>();
    for (const { collection, source_id } of sources.slice(start, start + SOURCES_A_PREDICATE)) {
      const ids = byCollection.get(collection);
      if (ids) ids.push(source_id);
      else byCollection.set(collection, [source_id]);
    }
    yield [...byCollection]
      .map(([collection, ids]) => `(collection = ${literal(collection)} AND ${oneOf('source_id', ids)})`)
      .join(' OR ');
  }
}

function oneOf(column: string, values: readonly string[]): string {
  return values.length === 0 ? 'false' : `${column} IN (${values.map(literal).join(', ')})`;
}
