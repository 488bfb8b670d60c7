import { z } from 'zod';

/** Names of fields, each with the name to use instead. */
export type FieldNames = Readonly<Record<string, string>>;

export function invert(names: FieldNames): FieldNames {
  return Object.fromEntries(Object.entries(names).map(([from, to]) => [to, from]));
}

/** Renames the fields of a request. Where a field is sent under both names, the value under the new name counts. */
export function renameFields(value: unknown, names: FieldNames): unknown {
  if (!isObject(value)) return value;
  const fields = Object.entries(value).flatMap(([name, field]) => {
    const renamed = newName(name, names);
    return renamed === name || !Object.hasOwn(value, renamed) ? [[renamed, field]] : [];
  });
  return Object.fromEntries(fields);
}

/** Renames the fields of every object in a response. */
export function renameAllFields(value: unknown, names: FieldNames): unknown {
  if (Array.isArray(value)) return value.map((element) => renameAllFields(element, names));
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, field]) => [newName(name, names), renameAllFields(field, names)]),
  );
}

/** Renames the fields of every object in a schema. For the API document only: refinements see the new names. */
export function renameSchemaFields(schema: z.ZodType, names: FieldNames): z.ZodType {
  if (schema instanceof z.ZodArray) {
    return withDefinition(schema, { element: renameSchemaFields(schema.element as z.ZodType, names) });
  }
  if (!(schema instanceof z.ZodObject)) return schema;
  const fields = Object.entries(schema.shape as Record<string, z.ZodType>);
  const renamed = fields.map(([name, field]) => [newName(name, names), renameSchemaFields(field, names)]);
  return withDefinition(schema, { shape: Object.fromEntries(renamed) });
}

/** A copy with its limits and its description, which belongs to a component if the schema has an id. */
function withDefinition(schema: z.ZodType, changes: object): z.ZodType {
  return z.core.clone(schema, { ...schema._zod.def, ...changes }, { parent: schema.meta()?.id === undefined });
}

function newName(name: string, names: FieldNames): string {
  return Object.hasOwn(names, name) ? names[name]! : name;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
