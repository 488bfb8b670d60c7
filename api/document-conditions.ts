/**
 * How the document states conditions of an object, such as "at least one of these fields": by `if` and `else`. Beside the fields
 * of an object, generators of clients take `anyOf`, `oneOf` and `not` for types, and make code that does not compile.
 */
import type { oas31 } from 'zod-openapi';

type Schema = oas31.SchemaObject;

const KEYWORDS = ['anyOf', 'oneOf', 'allOf'] as const;
/** What a condition consists of. */
const CONDITION = /^(required|properties|not|allOf)$/;
/** What has values of clients, which may look like schemas. */
const VALUES = /^(default|example|examples|enum|const|x-)/;

/** Whether the schema restricts an object and does not describe its fields. */
export function isCondition(schema: Schema): boolean {
  return Object.keys(schema).every((key) => CONDITION.test(key));
}

/** Changes the document. */
export function stateConditions(part: unknown): void {
  if (typeof part !== 'object' || part === null) return;
  if ('properties' in part && 'type' in part) stateConditionsOf(part as Schema);
  for (const [key, value] of Object.entries(part)) if (!VALUES.test(key)) stateConditions(value);
}

function stateConditionsOf(schema: Schema): void {
  const conditions: Schema[] = [];
  for (const keyword of KEYWORDS) {
    const parts = schema[keyword] as Schema[] | undefined;
    if (!parts?.every(isCondition)) continue;
    conditions.push({ [keyword]: parts });
    delete schema[keyword];
  }
  if (schema.not) {
    conditions.push({ not: schema.not });
    delete schema.not;
  }
  if (conditions.length === 0) return;
  Object.assign(schema, { if: conditions.length === 1 ? conditions[0] : { allOf: conditions }, else: false });
}
