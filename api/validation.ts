import type { z } from 'zod';
import { ServiceError } from '../domain/errors.js';
import { BlockedAddressError, type OutboundClient } from '../domain/outbound.js';

export interface ReadOptions {
  /** Where the value stands in the request, such as `input`; named before its fields in messages. */
  at?: string;
  /** Fields that this client knows by another name. */
  shownAs?: Readonly<Record<string, string>> | undefined;
  /** A missing field is VALIDATION_ERROR too: the value is no parameter of the request but a part of one. */
  nested?: boolean;
}

/**
 * Validates a value by its schema.
 * @throws ServiceError INVALID_PARAMETERS (400) when a required field is missing, VALIDATION_ERROR (422) when a field is
 * invalid; the message names the field
 */
export function read<Schema extends z.ZodType>(
  schema: Schema,
  value: unknown,
  { at, shownAs = {}, nested = false }: ReadOptions = {},
): z.output<Schema> {
  const result = schema.safeParse(value, { error: describeIssue });
  if (result.success) return result.data;
  const issue = result.error.issues[0]!;
  // Zod reports a missing union or enum like a wrong one; only the value shows the difference.
  const missing = issue.code !== 'custom' && valueAt(value, issue.path) === undefined;
  const path = issue.path.map((name) => shownAs[String(name)] ?? String(name));
  const field = [...(at === undefined ? [] : [at]), ...path].join('.');
  const message = missing ? 'is required' : issue.message;
  const code = missing && !nested ? 'INVALID_PARAMETERS' : 'VALIDATION_ERROR';
  throw new ServiceError(code, field ? `${field}: ${message}` : message);
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

/** What the client has to send, where the schema does not say so; undefined leaves the message to zod. */
function describeIssue(issue: z.core.$ZodRawIssue): string | undefined {
  switch (issue.code) {
    case 'invalid_type':
      return issue.expected in TYPES ? `must be ${TYPES[issue.expected]}` : undefined;
    case 'invalid_key':
      return `has a name that is not allowed (${issue.issues[0]?.message})`;
    case 'invalid_union': {
      const reasons = issue.errors.map(([first]) => first);
      const ofType = reasons.every((reason) => reason?.code === 'invalid_type' && reason.path.length === 0);
      return reasons.length > 0 && ofType
        ? `must be ${reasons.map((reason) => reason!.message.replace(/^must be /, '')).join(' or ')}`
        : undefined;
    }
  }
  return undefined;
}

/**
 * Rejects a URL to which Postback never sends requests, as far as that can be known now.
 * @param field names the URL in the message
 * @throws ServiceError VALIDATION_ERROR
 */
export async function rejectBlockedUrl(outbound: OutboundClient, field: string, url: string): Promise<void> {
  try {
    await outbound.check(url);
  } catch (error) {
    if (error instanceof BlockedAddressError) throw new ServiceError('VALIDATION_ERROR', `${field}: ${error.message}`);
    throw error;
  }
}
