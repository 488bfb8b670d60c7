import { sha256Hex } from '../ids.js';

/** The properties of a metadata field that filters need. */
export interface FilterableField {
  name: string;
  data_type: string;
}

/** Kind of a field, which decides the conditions that filters may use. */
export type FieldKind = 'number' | 'text' | 'boolean' | 'list' | 'json';

/** An item's metadata in the form the search index filters by. */
export interface IndexedMetadata {
  /** One tag for each field and each value, for the conditions equality, list and existence. */
  tags: readonly string[];
  /** Values of declared number fields by name, for range conditions. */
  numbers: ReadonlyMap<string, number>;
  /** Values of declared text fields by name, cut to `RANGE_CHARACTERS`, for range conditions. */
  texts: ReadonlyMap<string, string>;
}

export type TagScope = 'metadata' | 'additional_metadata';

/** Characters of a text that range conditions compare. */
export const RANGE_CHARACTERS = 256;
/** Longer tags are replaced by their SHA-256. */
const MAX_TAG_CHARACTERS = 200;
/** Fields of an item that filters find. `additional_metadata` is free, and every chunk of the item has the tags. */
const MAX_FIELDS = 200;
const MAX_LIST_VALUES = 1_000;

/** For an item without metadata. */
export const NO_METADATA: IndexedMetadata = { tags: [], numbers: new Map(), texts: new Map() };

type Scalar = string | number | boolean;

/** Whether a value is a text, a finite number or a boolean. */
export function isScalar(value: unknown): value is Scalar {
  return typeof value === 'string' || typeof value === 'boolean' || Number.isFinite(value);
}

/** @returns the tag of items with this value, or without a value, of all items that have the field */
export function tagOf(scope: TagScope, name: string, value?: Scalar): string {
  const parts = [scope === 'metadata' ? 'm' : 'a', name, ...(value === undefined ? [] : [value])];
  const tag = JSON.stringify(parts);
  return tag.length <= MAX_TAG_CHARACTERS ? tag : `#${sha256Hex(tag)}`;
}

/** @returns the kind of a field by the `data_type` in the metadata schema */
export function kindOf(dataType: string): FieldKind {
  if (/^(INT\d+|FLOAT|DOUBLE)$/.test(dataType)) return 'number';
  if (dataType === 'BOOL') return 'boolean';
  if (dataType === 'ARRAY') return 'list';
  return dataType === 'VARCHAR' ? 'text' : 'json';
}

/**
 * Converts an item's metadata to the form that filters use.
 * @param schema the fields that support range conditions
 * @param metadata typed by the schema. Ranges ignore null and values of another type
 * @param additional free fields. Filters find texts, numbers, booleans and lists of these
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
    for (const element of values) if (isScalar(element)) tags.add(tagOf(scope, name, element));
  }
  return tags;
}
