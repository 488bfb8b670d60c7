import { ServiceError } from '../errors.js';
import {
  type FieldKind,
  type FilterableField,
  isScalar,
  kindOf,
  RANGE_CHARACTERS,
  type TagScope,
  tagOf,
} from './indexed-metadata.js';

export type Comparison = '>' | '>=' | '<' | '<=';

/** A validated filter. An item without a field matches no condition on that field. */
export type MetadataFilter =
  | { all: readonly MetadataFilter[] }
  | { any: readonly MetadataFilter[] }
  | { not: MetadataFilter }
  /** Items that have at least one of these tags. */
  | { tags: readonly string[] }
  | { field: string; comparison: Comparison; value: number | string };

/** The syntax of filters, for the documentation of the route (Markdown). */
export const FILTER_GUIDE = [
  'Conditions on fields of the metadata schema of the database. An item must match all of them.',
  '',
  '| condition | matches |',
  '| --- | --- |',
  '| `{"brand": "Acme"}`, `{"brand": {"$eq": "Acme"}}` | equal; an ARRAY contains the value |',
  '| `{"brand": ["Acme", "Bolt"]}`, `{"brand": {"$in": […]}}` | equal to one of the values |',
  '| `{"year": {"$gte": 2000, "$lt": 2010}}` | a range of numbers, or of text by code points; also `$gt`, `$lte` |',
  '| `{"year": {"$exists": true}}` | has the field, or does not have it (`false`) |',
  '| `{"brand": {"$ne": "Acme"}}`, `{"brand": {"$nin": […]}}` | not equal; includes items without the field |',
  '| `{"$or": [{…}, {…}]}`, `{"$and": [{…}]}`, `{"$not": {…}}` | combinations of filters |',
  '| `{"additional_metadata": {"source": "wiki"}}` | undeclared fields: equality, lists and `$exists` |',
  '',
  'Unknown fields and values of another type than the field are rejected.',
].join('\n');

/** Limits of one request: levels of nesting, conditions, and values in all conditions together. */
const MAX_DEPTH = 8;
const MAX_CONDITIONS = 100;
const MAX_VALUES = 1_000;

const COMPARISONS: Readonly<Record<string, Comparison>> = { $gt: '>', $gte: '>=', $lt: '<', $lte: '<=' };
const JSON_FIELDS_ONLY_EXIST = 'is a JSON field, which supports only $exists';

interface Field {
  scope: TagScope;
  name: string;
  /** `any` for a free field. */
  kind: FieldKind | 'any';
  integer: boolean;
}

/**
 * Validates `metadata_filters`.
 * @param schema the metadata schema of the database
 * @returns null when the filter has no conditions
 * @throws ServiceError VALIDATION_ERROR with the path of the invalid part
 */
export function readMetadataFilters(
  filters: Readonly<Record<string, unknown>>,
  schema: readonly FilterableField[],
): MetadataFilter | null {
  const fields = new Map(schema.map((field) => [field.name, field]));
  let conditions = 0;
  let valuesLeft = MAX_VALUES;

  const filter = readObject(filters, 'metadata_filters', 1);
  return 'all' in filter && filter.all.length === 0 ? null : filter;

  function readObject(value: unknown, path: string, depth: number): MetadataFilter {
    if (!isObject(value)) throw invalid(path, 'must be an object of conditions');
    if (depth > MAX_DEPTH) throw invalid(path, `must not be nested deeper than ${MAX_DEPTH} levels`);
    const entries = Object.entries(value);
    // An object without conditions costs the search as much as one.
    if (entries.length === 0) count();
    return all(entries.map(([name, part]) => readEntry(name, part, `${path}.${name}`, depth)));
  }

  function count(): void {
    conditions += 1;
    if (conditions > MAX_CONDITIONS) {
      throw invalid('metadata_filters', `must not exceed ${MAX_CONDITIONS} conditions`);
    }
  }

  function readEntry(name: string, part: unknown, path: string, depth: number): MetadataFilter {
    if (name === '$and') return { all: readList(part, path, depth) };
    if (name === '$or') return { any: readList(part, path, depth) };
    if (name === '$not') return { not: readObject(part, path, depth + 1) };
    if (name === 'additional_metadata') {
      if (!isObject(part)) throw invalid(path, 'must be an object of conditions');
      if (Object.keys(part).length === 0) count();
      const free = Object.entries(part).map(([key, condition]) =>
        readCondition({ scope: name, name: key, kind: 'any', integer: false }, condition, `${path}.${key}`),
      );
      return all(free);
    }
    const declared = fields.get(name);
    if (!declared) throw invalid(path, 'is not a field of the metadata schema of this database');
    const integer = declared.data_type.startsWith('INT');
    return readCondition({ scope: 'metadata', name, kind: kindOf(declared.data_type), integer }, part, path);
  }

  function readList(value: unknown, path: string, depth: number): MetadataFilter[] {
    if (!Array.isArray(value) || value.length === 0) throw invalid(path, 'must be a non-empty list of filters');
    return value.map((part, index) => readObject(part, `${path}.${index}`, depth + 1));
  }

  function readCondition(field: Field, condition: unknown, path: string): MetadataFilter {
    if (Array.isArray(condition)) return readOperator(field, '$in', condition, path);
    if (!isObject(condition)) return readOperator(field, '$eq', condition, path);
    const operators = Object.entries(condition);
    if (operators.length === 0) throw invalid(path, 'must be a value, a list, or an object of operators');
    return all(operators.map(([name, operand]) => readOperator(field, name, operand, `${path}.${name}`)));
  }

  function readOperator(field: Field, operator: string, operand: unknown, path: string): MetadataFilter {
    count();
    switch (operator) {
      case '$exists': {
        if (typeof operand !== 'boolean') throw invalid(path, 'must be true or false');
        const exists = { tags: [tagOf(field.scope, field.name)] };
        return operand ? exists : { not: exists };
      }
      case '$eq':
        return { tags: [readTag(field, operand, path)] };
      case '$ne':
        return { not: { tags: [readTag(field, operand, path)] } };
      case '$in':
        return { tags: readTags(field, operand, path) };
      case '$nin':
        return { not: { tags: readTags(field, operand, path) } };
      case '$gt':
      case '$gte':
      case '$lt':
      case '$lte':
        return readRange(field, COMPARISONS[operator]!, operand, path);
      default:
        throw invalid(path, 'is not an operator; use $eq, $ne, $in, $nin, $gt, $gte, $lt, $lte or $exists');
    }
  }

  function readTags(field: Field, operand: unknown, path: string): string[] {
    if (!Array.isArray(operand) || operand.length === 0) throw invalid(path, 'must be a non-empty list of values');
    return operand.map((value, index) => readTag(field, value, `${path}.${index}`));
  }

  function readTag(field: Field, value: unknown, path: string): string {
    valuesLeft -= 1;
    if (valuesLeft < 0) throw invalid('metadata_filters', `must not exceed ${MAX_VALUES} values`);
    return tagOf(field.scope, field.name, readValue(field, value, path));
  }
}

function readRange(field: Field, comparison: Comparison, operand: unknown, path: string): MetadataFilter {
  if (field.kind !== 'number' && field.kind !== 'text') {
    throw invalid(path, 'ranges require a number or VARCHAR field of the metadata schema');
  }
  const value = readValue(field, operand, path) as number | string;
  const bound = typeof value === 'string' ? value.slice(0, RANGE_CHARACTERS) : value;
  return { field: field.name, comparison, value: bound };
}

/** @returns a value that fits the field's type */
function readValue({ kind, integer }: Field, value: unknown, path: string): string | number | boolean {
  if (kind === 'json') throw invalid(path, JSON_FIELDS_ONLY_EXIST);
  if (!isScalar(value))
    throw invalid(path, value === null ? 'must not be null; use $exists' : 'must be a single value');
  const expected = { number: 'number', text: 'string', boolean: 'boolean', list: null, any: null }[kind];
  if (expected !== null && typeof value !== expected) throw invalid(path, `must be a ${expected}`);
  if (integer && !Number.isInteger(value)) throw invalid(path, 'must be an integer');
  return value;
}

function all(parts: MetadataFilter[]): MetadataFilter {
  return parts.length === 1 ? parts[0]! : { all: parts };
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function invalid(path: string, reason: string): ServiceError {
  return new ServiceError('VALIDATION_ERROR', `${path}: ${reason}`);
}
