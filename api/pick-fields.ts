import type { z } from 'zod';

/** Times of a response, which are texts, may still be dates. */
type WithDates<Fields> = { [Name in keyof Fields]: Fields[Name] | (string extends Fields[Name] ? Date : never) };

/**
 * The fields of a response: those that its schema has, with times in ISO 8601. What else a record has is not shown.
 * @param values the record, and the fields that have another name or form in the response; undefined: absent
 */
export function pickFields<Schema extends z.ZodObject>(
  schema: Schema,
  values: WithDates<z.input<Schema>>,
): z.input<Schema> {
  const fields = Object.keys(schema.shape).flatMap((name) => {
    const value = (values as Record<string, unknown>)[name];
    return value === undefined ? [] : [[name, value instanceof Date ? value.toISOString() : value]];
  });
  return Object.fromEntries(fields);
}
