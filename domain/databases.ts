import { z } from 'zod';

export const nameSchema = z
  .string()
  .regex(/^[A-Za-z0-9_-]{1,64}$/, 'must have 1 to 64 characters of A-Z, a-z, 0-9, _ and -')
  .meta({ example: 'library' });

export const METADATA_TYPES = [
  'BOOL',
  'INT8',
  'INT16',
  'INT32',
  'INT64',
  'FLOAT',
  'DOUBLE',
  'VARCHAR',
  'JSON',
  'ARRAY',
] as const;

export const metadataFieldSchema = z.object({
  name: z.string().min(1).max(64),
  data_type: z.enum(METADATA_TYPES),
  max_length: z.int().positive().optional(),
  enable_match: z.boolean().optional(),
});

export const createDatabaseSchema = z.object({
  database: nameSchema,
  database_metadata_schema: z
    .array(metadataFieldSchema)
    .max(100)
    .refine((fields) => new Set(fields.map((field) => field.name)).size === fields.length, 'names a field twice')
    .default([]),
});
