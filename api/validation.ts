import type { z } from 'zod';
import { ServiceError } from '../domain/errors.js';

/**
 * Reads a value by its schema.
 * @throws ServiceError INVALID_PARAMETERS (400) when something required is missing, VALIDATION_ERROR (422) when what
 * is there breaks a rule; the message names the field
 */
export function read<Schema extends z.ZodType>(schema: Schema, value: unknown): z.output<Schema> {
  const result = schema.safeParse(value, { error: inWords });
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

const TYPES: Record<string, string> = {
  string: 'a string',
  number: 'a number',
  int: 'an integer',
  boolean: 'a boolean',
  object: 'an object',
  record: 'an object',
  array: 'an array',
};

/** What the client has to send, where the schema does not say it itself; undefined leaves it to zod. */
function inWords(issue: z.core.$ZodRawIssue): string | undefined {
  switch (issue.code) {
    case 'invalid_type':
      return issue.expected in TYPES ? `must be ${TYPES[issue.expected]}` : undefined;
    case 'invalid_key':
      return `has a name that is not allowed (${issue.issues[0]?.message})`;
    case 'invalid_union': {
      const reasons = issue.errors.map(([first]) => first);
      const ofType = reasons.every((one) => one?.code === 'invalid_type' && one.path.length === 0);
      return reasons.length > 0 && ofType
        ? `must be ${reasons.map((one) => one!.message.replace(/^must be /, '')).join(' or ')}`
        : undefined;
    }
  }
  return undefined;
}
