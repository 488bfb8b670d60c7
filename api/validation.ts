import { z } from 'zod';
import { ServiceError } from '../domain/errors.js';
import { withPauses } from '../domain/event-loop.js';
import { BlockedAddressError, type OutboundClient } from '../domain/outbound.js';
import type { FieldNames } from './field-names.js';
import { checkFields } from './known-fields.js';

export interface ReadOptions {
  /** Where the value is in the request, such as `input`: the messages' field names start with it. */
  at?: string;
  /** Names of fields in messages, where they differ from the schema's. */
  fieldNames?: FieldNames;
  /** The value is inside a field of the request: a missing field is VALIDATION_ERROR too. */
  nested?: boolean;
  /** The value is the query or a header: every error is INVALID_PARAMETERS. */
  parameters?: boolean;
}

/**
 * Validates a value by its schema. An optional field that is `null` is not given.
 * @throws ServiceError INVALID_PARAMETERS (400) when a required field is missing, or a parameter is invalid; VALIDATION_ERROR
 * (422) when a field is invalid or not known; the message has the form `field: message`
 */
export function read<Schema extends z.ZodType>(
  schema: Schema,
  value: unknown,
  { at, fieldNames = {}, nested = false, parameters = false }: ReadOptions = {},
): z.output<Schema> {
  const nameOf = (name: PropertyKey) => (Object.hasOwn(fieldNames, name) && fieldNames[String(name)]) || String(name);
  const fieldAt = (path: readonly PropertyKey[]) =>
    [...(at === undefined ? [] : [at]), ...path.map(nameOf)].join('.').slice(0, MAX_NAMED);
  const invalid = parameters ? 'INVALID_PARAMETERS' : 'VALIDATION_ERROR';
  const { given, unknown } = checkFields(schema, value);
  if (unknown) {
    const meant = unknown.meant === undefined ? '' : `; did you mean "${nameOf(unknown.meant)}"?`;
    throw new ServiceError(invalid, `${fieldAt(unknown.path)}: is not known${meant}`);
  }
  const result = schema.safeParse(given, { error: describeIssue });
  if (result.success) return result.data;
  const issue = narrowed(result.error.issues[0]!);
  // Zod reports a missing union or enum as an invalid one; only the value shows the difference.
  const missing = issue.code !== 'custom' && valueAt(given, issue.path) === undefined;
  const field = fieldAt(issue.path);
  const message = missing ? 'is required' : issue.message;
  throw new ServiceError(missing && !nested ? 'INVALID_PARAMETERS' : invalid, field ? `${field}: ${message}` : message);
}

/** Characters of a field's name in a message. */
const MAX_NAMED = 200;

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

const TYPES: Readonly<Record<string, string>> = {
  string: 'a string',
  number: 'a number',
  int: 'an integer',
  boolean: 'a boolean',
  object: 'an object',
  record: 'an object',
  array: 'an array',
};

const FORMATS: Readonly<Record<string, string>> = { email: 'email address', url: 'URL', uuid: 'UUID' };

type RawIssue<Code extends z.core.$ZodIssue['code']> = z.core.$ZodRawIssue<Extract<z.core.$ZodIssue, { code: Code }>>;

/**
 * The message for a failed check whose schema has no message of its own; it continues the name of the field:
 * `limit: must be between 1 and 100`.
 * @returns undefined to use zod's message
 */
function describeIssue(issue: z.core.$ZodRawIssue): string | undefined {
  switch (issue.code) {
    case 'invalid_type':
      return issue.expected in TYPES ? `must be ${TYPES[issue.expected]}` : undefined;
    case 'too_small':
    case 'too_big':
      return describeBound(issue);
    case 'invalid_value':
      return describeValues(issue.values);
    case 'invalid_format':
      return issue.format === 'regex'
        ? `must match ${issue.pattern}`
        : `must be a valid ${FORMATS[issue.format] ?? issue.format}`;
    case 'invalid_key':
      return `is not a valid field name (${issue.issues[0]?.message})`;
    case 'unrecognized_keys':
      return `has an unknown field "${issue.keys[0]}"`;
    case 'invalid_union':
      return describeUnion(issue);
    default:
      return undefined;
  }
}

const UNITS: Readonly<Record<string, string>> = { string: 'character', array: 'item' };

function describeBound(issue: RawIssue<'too_small'> | RawIssue<'too_big'>): string | undefined {
  if (issue.origin === 'number' || issue.origin === 'int') return describeRange(issue);
  const unit = UNITS[issue.origin];
  if (unit === undefined) return undefined;
  const sized = (size: number | bigint) => `${size} ${unit}${Number(size) === 1 ? '' : 's'}`;
  if (issue.code === 'too_big') return `must not exceed ${sized(issue.maximum)}`;
  return Number(issue.minimum) === 1 ? 'must not be empty' : `must have at least ${sized(issue.minimum)}`;
}

/** Both bounds, where the schema has two; else the one that is violated. */
function describeRange(issue: RawIssue<'too_small'> | RawIssue<'too_big'>): string {
  const range = issue.schema instanceof z.ZodNumber ? inclusiveRange(issue.schema) : undefined;
  if (range) return `must be between ${range.min} and ${range.max}`;
  if (issue.code === 'too_big') return `must be ${issue.inclusive ? 'at most' : 'less than'} ${issue.maximum}`;
  return `must be ${issue.inclusive ? 'at least' : 'greater than'} ${issue.minimum}`;
}

function inclusiveRange(schema: z.ZodNumber): { min: number; max: number } | undefined {
  const { minValue: min, maxValue: max } = schema;
  if (min === null || max === null) return undefined;
  // Every integer schema is limited to JavaScript's exact integers; and both values may be exclusive bounds.
  const isBound = (value: number) => Math.abs(value) < Number.MAX_SAFE_INTEGER && schema.safeParse(value).success;
  return isBound(min) && isBound(max) ? { min, max } : undefined;
}

function describeValues(values: readonly z.core.util.Primitive[]): string {
  return values.length === 1 ? `must be ${String(values[0])}` : `must be one of ${values.join(', ')}`;
}

/** Names the types of a union, when the value has none of them, or the values of its discriminator. */
function describeUnion({ errors, options }: RawIssue<'invalid_union'>): string | undefined {
  if (Array.isArray(options)) return describeValues(options);
  const types = errors.flatMap(([issue]) =>
    issue?.code === 'invalid_type' && issue.path.length === 0 ? [TYPES[issue.expected] ?? issue.expected] : [],
  );
  return types.length > 0 && types.length === errors.length ? `must be ${types.join(' or ')}` : undefined;
}
