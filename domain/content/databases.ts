import { z } from 'zod';
import { METADATA_TYPES } from './metadata.js';

/** A database, and whose it is. Each query names the organisation. */
export interface OwnedDatabase {
  /** Internal id (`tnt_…`). */
  _id: string;
  org: string;
}

/** Names of databases and collections. */
export const nameSchema = z
  .string()
  .regex(/^[A-Za-z0-9_-]{1,64}$/, 'must have 1 to 64 characters of A-Z, a-z, 0-9, _ and -')
  .meta({ example: 'library' });

/** Largest `max_length` of a VARCHAR: more than all metadata of an item may have. */
const MAX_TEXT_LENGTH = 1_000_000;

/** A field of a metadata schema: items must have values of its type. */
export const metadataFieldSchema = z
  .object({
    name: z
      .string()
      .regex(
        /^[A-Za-z_][A-Za-z0-9_-]{0,63}$/,
        'must have 1 to 64 characters of A-Z, a-z, 0-9, _ and -, and not start with a digit or -',
      ),
    data_type: z.enum(METADATA_TYPES),
    max_length: z
      .int()
      .min(1)
      .max(MAX_TEXT_LENGTH)
      .optional()
      .meta({ description: 'Maximum length of a VARCHAR, in characters.' }),
    enable_match: z.boolean().optional().meta({
      description: 'Accepted for compatibility, and returned: every field can be matched exactly, whatever its value.',
    }),
  })
  .refine(({ data_type, max_length }) => max_length === undefined || data_type === 'VARCHAR', {
    message: 'is for VARCHAR only',
    path: ['max_length'],
  })
  .meta({ anyOf: [{ properties: { data_type: { const: 'VARCHAR' } } }, { not: { required: ['max_length'] } }] });

export type MetadataField = z.infer<typeof metadataFieldSchema>;

export const MAX_METADATA_FIELDS = 100;

/** The metadata schema of a database, or fields to add to it. `addFields` checks fields that are given twice. */
const metadataFieldsSchema = z.array(metadataFieldSchema).max(MAX_METADATA_FIELDS);

/** The body of `POST /databases`. */
export const createDatabaseSchema = z.object({
  database: nameSchema,
  database_metadata_schema: metadataFieldsSchema.default([]),
});

/** The body of a request that adds fields to the metadata schema. */
export const addMetadataFieldsSchema = z.object({ database_metadata_schema: metadataFieldsSchema.min(1) });

/**
 * Adds fields to a metadata schema. An existing field may be given again; its `max_length` may only grow, so that stored
 * values stay valid.
 * @returns the merged schema, or the name of a field whose type would change or whose `max_length` would shrink
 */
export function addFields(
  existing: readonly MetadataField[],
  added: readonly MetadataField[],
): { fields: MetadataField[] } | { conflict: string } {
  const fields = new Map(existing.map((field) => [field.name, field]));
  for (const field of added) {
    const before = fields.get(field.name);
    if (before && (before.data_type !== field.data_type || isNarrower(field.max_length, before.max_length))) {
      return { conflict: field.name };
    }
    fields.set(field.name, { ...before, ...field, max_length: field.max_length });
  }
  return { fields: [...fields.values()] };
}

function isNarrower(length = Number.POSITIVE_INFINITY, before = Number.POSITIVE_INFINITY): boolean {
  return length < before;
}
