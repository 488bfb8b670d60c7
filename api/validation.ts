import type { z } from 'zod';
import { ServiceError } from '../domain/errors.js';

/**
 * Reads a value by its schema.
 * @throws ServiceError INVALID_PARAMETERS (400) when something required is missing, VALIDATION_ERROR (422) when what
 * is there breaks a rule; the message names the field
 */
export function read<Schema extends z.ZodType>(schema: Schema, value: unknown): z.output<Schema> {
  const result = schema.safeParse(value, { reportInput: true });
  if (result.success) return result.data;
  const issue = result.error.issues[0]!;
  const missing = issue.code === 'invalid_type' && issue.input === undefined;
  const field = issue.path.map(String).join('.');
  const message = missing ? 'is required' : issue.message;
  throw new ServiceError(missing ? 'INVALID_PARAMETERS' : 'VALIDATION_ERROR', field ? `${field}: ${message}` : message);
}
