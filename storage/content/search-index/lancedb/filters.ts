import type { MetadataFilter } from '../../../../domain/content/metadata-filters.js';
import type { SearchRequest, SourceFilter } from '../../../../domain/content/search.js';
import { rangeColumn } from '../columns.js';

/** Rows in one delete; parsing a longer predicate costs more than a second delete. */
const ROWS_PER_PREDICATE = 500;

/** @returns an SQL string literal. DataFusion has no backslash escapes; only the quote is doubled. */
export function literal(value: string): string {
  return `'${value.replaceAll("'", "''")}'`;
}

/**
 * @param columns of the table; a range over a column that the table lacks matches no row
 * @returns SQL, or null without restrictions. An empty list of collections or sources matches no row
 */
export function filterOf(request: SearchRequest, columns: ReadonlySet<string>): string | null {
  const { collections, type, sources, without, metadata } = request;
  const parts: string[] = [];
  if (collections) parts.push(oneOf('collection', collections));
  if (type) parts.push(`type = ${literal(type)}`);
  if (sources) parts.push(sourcesPredicate(sources));
  if (without) parts.push(`NOT ${sourcesPredicate(without)}`);
  if (metadata) parts.push(metadataPredicate(metadata, columns));
  return parts.length === 0 ? null : parts.join(' AND ');
}

function sourcesPredicate(sources: readonly SourceFilter[]): string {
  if (sources.length === 0) return 'false';
  const parts = sources.map(({ collection, ids }) =>
    collection === undefined
      ? oneOf('source_id', ids)
      : `(collection = ${literal(collection)} AND ${oneOf('source_id', ids)})`,
  );
  return `(${parts.join(' OR ')})`;
}

/** @returns SQL that is true or false for every row, never null, so that a negation matches all other rows */
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
  // DataFusion reads a number in scientific notation as a double, whatever its size.
  const bound = typeof value === 'number' ? value.toExponential() : literal(value);
  return `(${column} IS NOT NULL AND ${column} ${comparison} ${bound})`;
}

/** @returns predicates that together match the rows with these chunk ids */
export function* predicatesOf(chunkIds: readonly string[]): Generator<string> {
  for (let start = 0; start < chunkIds.length; start += ROWS_PER_PREDICATE) {
    yield oneOf('chunk_id', chunkIds.slice(start, start + ROWS_PER_PREDICATE));
  }
}

function oneOf(column: string, values: readonly string[]): string {
  return values.length === 0 ? 'false' : `${column} IN (${values.map(literal).join(', ')})`;
}
