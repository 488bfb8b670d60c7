import { z } from 'zod';
import type { MetadataField, MetadataType } from './databases.js';

const integer = (bits: number) => {
  const limit = 2 ** (bits - 1);
  return z
    .number()
    .int()
    .min(-limit)
    .max(limit - 1);
};
const scalar = z.union([z.string(), z.number(), z.boolean()]);
const FLOAT_MAX = 3.4028234663852886e38;

const VALUES: Record<
  MetadataType,
  { value: (field: MetadataField) => z.ZodType; must: (field: MetadataField) => string }
> = {
  BOOL: { value: () => z.boolean(), must: () => 'true or false' },
  INT8: { value: () => integer(8), must: () => 'an integer between -128 and 127' },
  INT16: { value: () => integer(16), must: () => 'an integer between -32768 and 32767' },
  INT32: { value: () => integer(32), must: () => 'an integer between -2147483648 and 2147483647' },
  // JSON numbers are exact up to here; a larger one has been rounded before anybody can see it.
  INT64: { value: () => z.int(), must: () => 'an integer between -(2^53 - 1) and 2^53 - 1' },
  FLOAT: { value: () => z.number().min(-FLOAT_MAX).max(FLOAT_MAX), must: () => 'a number that 32 bits can hold' },
  DOUBLE: { value: () => z.number(), must: () => 'a number' },
  VARCHAR: {
    value: ({ max_length = Number.POSITIVE_INFINITY }) => z.string().refine((text) => [...text].length <= max_length),
    must: ({ max_length }) => (max_length === undefined ? 'a string' : `a string of at most ${max_length} characters`),
  },
  JSON: { value: () => z.unknown(), must: () => 'any JSON value' },
  ARRAY: { value: () => z.array(scalar), must: () => 'an array of strings, numbers or booleans' },
};

const MAX_METADATA = 64 * 1024;
/** MongoDB holds a hundred; a record has some of its own. */
const MAX_LEVELS = 64;

/**
 * Whether an item's metadata can be stored at all, whatever the schema says.
 * @returns what is wrong (`must not exceed …`), or null
 */
export function unfitMetadata(metadata: unknown): string | null {
  // Depth comes first: what is nested without end cannot be measured either.
  const unfit = unfitPart(metadata, 0);
  if (unfit) return unfit;
  return JSON.stringify(metadata).length > MAX_METADATA ? 'must not exceed 64 KiB as JSON' : null;
}

function unfitPart(value: unknown, level: number): string | null {
  if (typeof value !== 'object' || value === null) return null;
  if (level >= MAX_LEVELS) return `must not be nested deeper than ${MAX_LEVELS} levels`;
  // Read back as a reference between documents, which is another object.
  if (Object.hasOwn(value, '$ref') && Object.hasOwn(value, '$id'))
    return 'has an object with both "$ref" and "$id", which cannot be stored';
  for (const [name, part] of Object.entries(value)) {
    // BSON ends a name at its first NUL, and takes an object with this field for a value of its own types.
    if (name.includes('\0') || name === '_bsontype')
      return `has a field "${name.replaceAll('\0', '\\u0000')}", which cannot be stored`;
    const unfit = unfitPart(part, level + 1);
    if (unfit) return unfit;
  }
  return null;
}

/**
 * Holds metadata against a database's schema. Declared fields must have their type where they are present and not null;
 * what is not declared may be anything.
 * @returns what is wrong, naming the field (`year: must be …`), or null
 */
export function metadataFault(
  fields: readonly MetadataField[],
  metadata: Readonly<Record<string, unknown>>,
): string | null {
  for (const field of fields) {
    const value = Object.hasOwn(metadata, field.name) ? metadata[field.name] : undefined;
    if (value === undefined || value === null) continue;
    const type = VALUES[field.data_type];
    if (!type.value(field).safeParse(value).success) {
      return `${field.name}: must be ${type.must(field)} (${field.data_type})`;
    }
  }
  return null;
}
