import { sha256Hex } from '../ids.js';

/** A field of a database's metadata schema, as far as filters need to know it. */
export interface FilterableField {
  name: string;
  data_type: string;
}

/** What a filter may do with a field of the schema. */
export type FieldKind = 'number' | 'text' | 'boolean' | 'list' | 'json';

/** An item's metadata in the form the search index filters by. */
export interface IndexedMetadata {
  /** One for each value and one for each field that is there: what equality, lists and existence are asked of. */
  tags: readonly string[];
  /** Values of declared number fields by name, for ranges. */
  numbers: ReadonlyMap<string, number>;
  /** The same of text fields; the first `RANGE_CHARACTERS` of each. */
  texts: ReadonlyMap<string, string>;
}

export type TagScope = 'metadata' | 'additional_metadata';

/** Ranges compare no more of a text than this. */
export const RANGE_CHARACTERS = 256;
/** Longer tags are kept as their SHA-256. */
const MAX_TAG_CHARACTERS = 200;
/** `additional_metadata` is free, and every chunk of an item carries its tags: what is beyond this cannot be asked for. */
const MAX_FIELDS = 200;
const MAX_LIST_VALUES = 1_000;

/** The metadata of an item that has none. */
export const NO_METADATA: IndexedMetadata = { tags: [], numbers: new Map(), texts: new Map() };

type Scalar = string | number | boolean;

export function isScalar(value: unknown): value is Scalar {
  return typeof value === 'string' || typeof value === 'boolean' || Number.isFinite(value);
}

/** @returns the tag that every item with this value carries; without a value, that of items which have the field at all */
export function tagOf(scope: TagScope, name: string, value?: Scalar): string {
  const parts = [scope === 'metadata' ? 'm' : 'a', name, ...(value === undefined ? [] : [value])];
  const tag = JSON.stringify(parts);
  return tag.length <= MAX_TAG_CHARACTERS ? tag : `#${sha256Hex(tag)}`;
}

export function kindOf(dataType: string): FieldKind {
  if (/^(INT\d+|FLOAT|DOUBLE)$/.test(dataType)) return 'number';
  if (dataType === 'BOOL') return 'boolean';
  if (dataType === 'ARRAY') return 'list';
  return dataType === 'VARCHAR' ? 'text' : 'json';
}

/**
 * @param schema the fields that ranges may be asked of
 * @param metadata typed by the schema; what has another type or is null counts as absent from ranges
 * @param additional free: only values that are text, number, boolean or a list of these can be filtered by
 */
export function indexedMetadata(
  schema: readonly FilterableField[],
  metadata: Readonly<Record<string, unknown>>,
  additional: Readonly<Record<string, unknown>>,
): IndexedMetadata {
  const numbers = new Map<string, number>();
  const texts = new Map<string, string>();
  for (const { name, data_type } of schema) {
    const value = Object.hasOwn(metadata, name) ? metadata[name] : undefined;
    if (kindOf(data_type) === 'number' && typeof value === 'number') numbers.set(name, value);
    if (kindOf(data_type) === 'text' && typeof value === 'string') texts.set(name, value.slice(0, RANGE_CHARACTERS));
  }
  return { tags: [...tagsOf('metadata', metadata), ...tagsOf('additional_metadata', additional)], numbers, texts };
}

function tagsOf(scope: TagScope, fields: Readonly<Record<string, unknown>>): Set<string> {
  const tags = new Set<string>();
  const present = Object.entries(fields).filter(([, value]) => value !== null && value !== undefined);
  for (const [name, value] of present.slice(0, MAX_FIELDS)) {
    tags.add(tagOf(scope, name));
    const values = Array.isArray(value) ? value.slice(0, MAX_LIST_VALUES) : [value];
    for (const one of values) if (isScalar(one)) tags.add(tagOf(scope, name, one));
  }
  return tags;
}
