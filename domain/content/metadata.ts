import { z } from 'zod';
import type { MetadataField } from './databases.js';

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

interface MetadataType {
  value(field: { max_length?: number | undefined }): z.ZodType;
  /** Continues "must be …". */
  requirement(field: { max_length?: number | undefined }): string;
}

/** Types of the fields in a database's metadata schema. */
const TYPES = {
  BOOL: { value: () => z.boolean(), requirement: () => 'true or false' },
  INT8: { value: () => integer(8), requirement: () => 'an integer between -128 and 127' },
  INT16: { value: () => integer(16), requirement: () => 'an integer between -32768 and 32767' },
  INT32: { value: () => integer(32), requirement: () => 'an integer between -2147483648 and 2147483647' },
  // JSON numbers are exact up to this limit; larger numbers are rounded when the request is parsed.
  INT64: { value: () => z.int(), requirement: () => 'an integer between -(2^53 - 1) and 2^53 - 1' },
  FLOAT: {
    value: () => z.number().min(-FLOAT_MAX).max(FLOAT_MAX),
    requirement: () => 'a number that fits into 32 bits',
  },
  DOUBLE: { value: () => z.number(), requirement: () => 'a number' },
  VARCHAR: {
    value: ({ max_length = Number.POSITIVE_INFINITY }) => z.string().refine((text) => [...text].length <= max_length),
    requirement: ({ max_length }) =>
      max_length === undefined ? 'a string' : `a string of at most ${max_length} characters`,
  },
  JSON: { value: () => z.unknown(), requirement: () => 'any JSON value' },
  ARRAY: { value: () => z.array(scalar), requirement: () => 'an array of strings, numbers or booleans' },
} as const satisfies Record<string, MetadataType>;

export const METADATA_TYPES = Object.keys(TYPES) as (keyof typeof TYPES)[];

/** Characters of JSON. */
const MAX_METADATA = 64 * 1024;
const TOO_LONG = 'must not exceed 64 KiB as JSON';
/** MongoDB stores 100 levels, some of which the record itself needs. */
const MAX_LEVELS = 64;

/**
 * Checks that an item's metadata can be stored, regardless of the database's schema.
 * @returns the error (`must not …`), or null
 */
export function unstorableMetadata(metadata: unknown): string | null {
  // Checked first, because JSON.stringify fails for values that are nested too deeply, and takes long for long texts.
  const error = unstorablePart(metadata, 0, { characters: MAX_METADATA });
  if (error) return error;
  return JSON.stringify(metadata).length > MAX_METADATA ? TOO_LONG : null;
}

/** @param room left for texts and names, which JSON never makes shorter */
function unstorablePart(value: unknown, level: number, room: { characters: number }): string | null {
  // A JSON number beyond the range of a double, which would be read back as null.
  if (typeof value === 'number' && !Number.isFinite(value)) return 'has a number that is too large to be stored';
  if (typeof value === 'string') room.characters -= value.length;
  if (room.characters < 0) return TOO_LONG;
  if (typeof value !== 'object' || value === null) return null;
  if (level >= MAX_LEVELS) return `must not be nested deeper than ${MAX_LEVELS} levels`;
  // The driver would read the object back as a reference between documents.
  if (Object.hasOwn(value, '$ref') && Object.hasOwn(value, '$id'))
    return 'has an object with both "$ref" and "$id", which cannot be stored';
  for (const [name, part] of Object.entries(value)) {
    // A name in BSON ends at its first NUL, and the driver treats an object with `_bsontype` as a BSON value.
    if (name.includes('\0') || name === '_bsontype')
      return `has a field "${name.replaceAll('\0', '\\u0000')}", which cannot be stored`;
    room.characters -= name.length;
    const error = unstorablePart(part, level + 1, room);
    if (error) return error;
  }
  return null;
}

/**
 * Validates metadata against a database's schema. Declared fields that are present and not null must have their type.
 * Undeclared fields may have any value.
 * @returns the error with the name of the field (`year: must be …`), or null
 */
export function metadataFault(
  fields: readonly MetadataField[],
  metadata: Readonly<Record<string, unknown>>,
): string | null {
  for (const field of fields) {
    const value = Object.hasOwn(metadata, field.name) ? metadata[field.name] : undefined;
    if (value === undefined || value === null) continue;
    const type: MetadataType = TYPES[field.data_type];
    if (!type.value(field).safeParse(value).success) {
      return `${field.name}: must be ${type.requirement(field)} (${field.data_type})`;
    }
  }
  return null;
}
