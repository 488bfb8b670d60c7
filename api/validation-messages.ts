import { z } from 'zod';

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
export function describeIssue(issue: z.core.$ZodRawIssue): string | undefined {
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
