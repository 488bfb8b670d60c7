import type { SearchRequest } from '../../domain/search.js';

/** Rows named in one delete; a longer predicate costs more to parse than a second delete. */
const ROWS_A_PREDICATE = 500;

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

/** Predicates that together name these rows. @param chunkIds of the rows */
export function* predicatesOf(chunkIds: readonly string[]): Generator<string> {
  for (let start = 0; start < chunkIds.length; start += ROWS_A_PREDICATE) {
    yield oneOf('chunk_id', chunkIds.slice(start, start + ROWS_A_PREDICATE));
  }
}

function oneOf(column: string, values: readonly string[]): string {
  return values.length === 0 ? 'false' : `${column} IN (${values.map(literal).join(', ')})`;
}
