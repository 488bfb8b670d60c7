import { z } from 'zod';
import { metadataFieldsSchema } from './metadata.js';

export const nameSchema = z
  .string()
  .regex(/^[A-Za-z0-9_-]{1,64}$/, 'must have 1 to 64 characters of A-Z, a-z, 0-9, _ and -')
  .meta({ example: 'library' });

export const createDatabaseSchema = z.object({
  database: nameSchema,
  database_metadata_schema: metadataFieldsSchema.default([]),
});

export const addMetadataFieldsSchema = z.object({ database_metadata_schema: metadataFieldsSchema.min(1) });
