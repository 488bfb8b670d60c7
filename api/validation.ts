import type { z } from 'zod';
import { ServiceError } from '../domain/errors.js';

/**
 * Reads a value by its schema.
 * @throws ServiceError INVALID_PARAMETERS (400) when something required is missing, VALIDATION_ERROR (422) when what
 * is there breaks a rule; the message names the field
 */
export function read<Schema extends z.ZodType>(schema: Schema, value: unknown): z.output<Schema> {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const issue = result.error.issues[0]!;
  // Zod tells a missing choice or union from a wrong one by nothing but the value.
  const missing = issue.code !== 'custom' && valueAt(value, issue.path) === undefined;
  const field = issue.path.map(String).join('.');
  const message = missing ? 'is required' : issue.message;
  throw new ServiceError(missing ? 'INVALID_PARAMETERS' : 'VALIDATION_ERROR', field ? `${field}: ${message}` : message);
}

function valueAt(value: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce((part, name) => (part as Record<PropertyKey, unknown> | undefined)?.[name], value);
}
