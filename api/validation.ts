import type { z } from 'zod';
import { ServiceError } from '../domain/errors.js';
import { withPauses } from '../domain/event-loop.js';
import { BlockedAddressError, type OutboundClient } from '../domain/outbound.js';
import type { FieldNames } from './field-names.js';
import { describeIssue } from './validation-messages.js';

export interface ReadOptions {
  /** Where the value is in the request, such as `input`: the messages' field names start with it. */
  at?: string;
  /** Names of fields in messages, where they differ from the schema's. */
  fieldNames?: FieldNames;
  /** The value is inside a field of the request: a missing field is VALIDATION_ERROR too. */
  nested?: boolean;
}

/**
 * Validates a value by its schema.
 * @throws ServiceError INVALID_PARAMETERS (400) when a required field is missing, VALIDATION_ERROR (422) when a field is
 * invalid; the message has the form `field: message`
 */
export function read<Schema extends z.ZodType>(
  schema: Schema,
  value: unknown,
  { at, fieldNames = {}, nested = false }: ReadOptions = {},
): z.output<Schema> {
  const result = schema.safeParse(value, { error: describeIssue });
  if (result.success) return result.data;
  const issue = narrowed(result.error.issues[0]!);
  // Zod reports a missing union or enum as an invalid one; only the value shows the difference.
  const missing = issue.code !== 'custom' && valueAt(value, issue.path) === undefined;
  const path = issue.path.map((name) => fieldNames[String(name)] ?? String(name));
  const field = [...(at === undefined ? [] : [at]), ...path].join('.');
  const message = missing ? 'is required' : issue.message;
  const code = missing && !nested ? 'INVALID_PARAMETERS' : 'VALIDATION_ERROR';
  throw new ServiceError(code, field ? `${field}: ${message}` : message);
}

/** The first issue of the alternative that was meant, where the value has the type of one alternative of a union only. */
function narrowed(issue: z.core.$ZodIssue): z.core.$ZodIssue {
  if (issue.code !== 'invalid_union') return issue;
  const meant = issue.errors.map(([first]) => first!).filter((first) => first && !isWrongType(first));
  return meant.length === 1 ? { ...meant[0]!, path: [...issue.path, ...meant[0]!.path] } : issue;
}

function isWrongType({ code, path }: z.core.$ZodIssue): boolean {
  return code === 'invalid_type' && path.length === 0;
}

/**
 * Validates the elements of a list, with pauses for other requests. Stops at the first invalid element.
 * @param at where the array is in the request, such as `memories`
 * @throws ServiceError VALIDATION_ERROR that names the element
 */
export async function readEach<Schema extends z.ZodType>(
  schema: Schema,
  values: Iterable<unknown>,
  at: string,
): Promise<z.output<Schema>[]> {
  const elements: z.output<Schema>[] = [];
  for await (const value of withPauses(values)) {
    elements.push(read(schema, value, { at: `${at}.${elements.length}`, nested: true }));
  }
  return elements;
}

function valueAt(value: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce((part, name) => (part as Record<PropertyKey, unknown> | undefined)?.[name], value);
}

/**
 * Rejects a URL to which Postback never sends requests, as far as that can be known before sending.
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
