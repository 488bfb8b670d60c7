/** How the document says that `null` for an optional field of a JSON body is "not given" (`known-fields.ts` removes it). */
import type { oas31 } from 'zod-openapi';
import { isCondition } from './document-conditions.js';

type Schema = oas31.SchemaObject;

const NULL: Schema = { type: 'null' };
const NOT_NULL: Schema = { not: NULL };
const PARTS = ['anyOf', 'oneOf', 'allOf'] as const;

/**
 * Lets the optional fields of the JSON bodies be null, at any depth. A form has no null, but the lists in its fields are JSON.
 * Changes the document.
 */
export function allowNullFields(document: oas31.OpenAPIObject): void {
  const seen = new Set<Schema>();
  const operations = Object.values(document.paths ?? {}).flatMap((path) => Object.values(path as object));
  for (const { requestBody } of operations as oas31.OperationObject[]) {
    const { content } = (requestBody ?? { content: {} }) as oas31.RequestBodyObject;
    const schema = content['application/json']?.schema;
    if (schema) visit(document, schema as Schema, seen);
    const form = content['multipart/form-data']?.schema as Schema | undefined;
    for (const field of Object.values(form?.properties ?? {})) visit(document, field as Schema, seen);
  }
}

function visit(document: oas31.OpenAPIObject, schema: Schema, seen: Set<Schema>): void {
  const target = resolve(document, schema);
  if (seen.has(target)) return;
  seen.add(target);
  const { properties = {}, required = [], items, additionalProperties } = target;
  const fields = Object.entries(properties as Record<string, Schema>);
  const parts = PARTS.flatMap((part) => (target[part] ?? []) as Schema[]);
  const conditions =
    fields.length > 0 ? [...parts.filter(isCondition), ...(target.not ? [target.not as Schema] : [])] : [];
  const others = [...fields.map(([, field]) => field), ...parts.filter((part) => !conditions.includes(part))];
  for (const part of [...others, items, additionalProperties])
    if (typeof part === 'object' && !Array.isArray(part)) visit(document, part as Schema, seen);
  for (const [name, field] of fields) {
    if (required.includes(name) || takesNull(document, field)) continue;
    target.properties![name] = nullable(field);
    for (const condition of conditions) requireValue(condition, name);
  }
}

/** A field that a condition requires is not null. */
function requireValue(condition: Schema, name: string): void {
  if (condition.required?.includes(name)) condition.properties = { [name]: NOT_NULL, ...condition.properties };
  if (condition.not) requireValue(condition.not as Schema, name);
}

function resolve({ components }: oas31.OpenAPIObject, schema: Schema): Schema {
  return schema.$ref ? (components!.schemas![schema.$ref.split('/').at(-1)!] as Schema) : schema;
}

/** Whether null has a meaning of its own, or anything is allowed. */
function takesNull(document: oas31.OpenAPIObject, schema: Schema): boolean {
  const { type, anyOf, oneOf, allOf, enum: values, const: value } = resolve(document, schema);
  const alternatives = (anyOf ?? oneOf) as Schema[] | undefined;
  if (alternatives && type === undefined) return alternatives.some((each) => takesNull(document, each));
  if (type === undefined) return allOf === undefined && values === undefined && value === undefined;
  return type === 'null' || (Array.isArray(type) && type.includes('null'));
}

function nullable(schema: Schema): Schema {
  const { type, anyOf, oneOf } = schema;
  if (typeof type === 'string' && !anyOf && !oneOf && !schema.enum) return { ...schema, type: [type, 'null'] };
  if (anyOf && type === undefined) return { ...schema, anyOf: [...anyOf, NULL] };
  // What is said of the field stays beside the alternatives.
  const { description, default: preset, example, examples, ...rest } = schema;
  const said = Object.entries({ description, default: preset, example, examples }).filter(
    ([, value]) => value !== undefined,
  );
  return { ...Object.fromEntries(said), anyOf: [rest, NULL] };
}
