import type { MetadataFilter } from '../../../domain/content/metadata-filters.js';
import type { SearchRequest } from '../../../domain/content/search.js';
import { rangeColumn } from './schema.js';

/** Rows named in one delete; a longer predicate costs more to parse than a second delete. */
const ROWS_A_PREDICATE = 500;

/** An SQL string literal. DataFusion knows no backslash escapes: doubling the quote is all there is. */
export function literal(value: string): string {
  return `'${value.replaceAll("'", "''")}'`;
}

/**
 * @param columns of the table; a range over a column that no row has had a value for matches nothing
 * @returns null when the request restricts nothing; an empty list of collections or sources lets nothing through
 */
export function filterOf(request: SearchRequest, columns: ReadonlySet<string>): string | null {
  const { collections, type, source_ids, metadata } = request;
  const parts: string[] = [];
  if (collections) parts.push(oneOf('collection', collections));
  if (type) parts.push(`type = ${literal(type)}`);
  if (source_ids) parts.push(oneOf('source_id', source_ids));
  if (metadata) parts.push(metadataPredicate(metadata, columns));
  return parts.length === 0 ? null : parts.join(' AND ');
}

/** True or false of every row, never null, so that a negation is everything else. */
function metadataPredicate(filter: MetadataFilter, columns: ReadonlySet<string>): string {
  const joined = (parts: readonly MetadataFilter[], word: 'AND' | 'OR') =>
    `(${parts.map((part) => metadataPredicate(part, columns)).join(` ${word} `)})`;
  if ('all' in filter) return filter.all.length === 0 ? 'true' : joined(filter.all, 'AND');
  if ('any' in filter) return joined(filter.any, 'OR');
  if ('not' in filter) return `(NOT ${metadataPredicate(filter.not, columns)})`;
  if ('tags' in filter) return `array_has_any(tags, [${filter.tags.map(literal).join(', ')}])`;
  const { field, comparison, value } = filter;
  const column = rangeColumn(typeof value === 'number' ? 'number' : 'text', field);
  if (!columns.has(column)) return 'false';
  // In scientific notation a number is a double for DataFusion, whatever its size.
  const bound = typeof value === 'number' ? value.toExponential() : literal(value);
  return `(${column} IS NOT NULL AND ${column} ${comparison} ${bound})`;
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
