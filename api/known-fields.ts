/** What a schema says about the fields of a value: which are known, and which may be `null`. */
import type { z } from 'zod';
import { nearestName } from '../domain/similar-names.js';

type Schema = z.core.$ZodType;
/** The fields of an object, over all alternatives of a union. */
interface Fields {
  schemas: ReadonlyMap<string, readonly Schema[]>;
  /** Whether it may have other fields. */
  open: boolean;
}

/** A field that no alternative of the schema has. */
export interface UnknownField {
  path: readonly PropertyKey[];
  /** The known name that it resembles most. */
  meant: string | undefined;
}

/**
 * Removes the fields that are `null` without a meaning: for an optional field `null` is "not given". Objects whose fields the
 * schema does not name, such as metadata, stay as they are.
 */
export function withoutNulls(schema: Schema, value: unknown): unknown {
  return withoutNullsOf([schema], value);
}

function withoutNullsOf(alternatives: readonly Schema[], value: unknown): unknown {
  if (Array.isArray(value)) {
    const elements = elementsOf(alternatives);
    return elements.length === 0 ? value : value.map((element) => withoutNullsOf(elements, element));
  }
  const fields = isObject(value) ? fieldsOf(alternatives) : null;
  if (!fields) return value;
  const given = Object.entries(value as object).filter(
    ([name, field]) => field !== null || !isOptional(fields.schemas.get(name) ?? []),
  );
  return Object.fromEntries(
    given.map(([name, field]) => [name, withoutNullsOf(fields.schemas.get(name) ?? [], field)]),
  );
}

/** @returns the first field that the schema does not know; null when it knows all, or allows others */
export function findUnknown(schema: Schema, value: unknown): UnknownField | null {
  return findUnknownOf([schema], value);
}

function findUnknownOf(alternatives: readonly Schema[], value: unknown): UnknownField | null {
  if (Array.isArray(value)) {
    const elements = elementsOf(alternatives);
    for (const [index, part] of value.entries()) {
      const unknown = findUnknownOf(elements, part);
      if (unknown) return { ...unknown, path: [index, ...unknown.path] };
    }
    return null;
  }
  const fields = isObject(value) ? fieldsOf(alternatives) : null;
  if (!fields) return null;
  for (const [name, field] of Object.entries(value as object)) {
    const schemas = fields.schemas.get(name) ?? [];
    if (schemas.length === 0 && !fields.open) {
      return { path: [name], meant: nearestName(name, [...fields.schemas.keys()]) };
    }
    const unknown = findUnknownOf(schemas, field);
    if (unknown) return { ...unknown, path: [name, ...unknown.path] };
  }
  return null;
}

/** @returns null when no schema names fields */
function fieldsOf(alternatives: readonly Schema[]): Fields | null {
  const objects = alternatives
    .flatMap(alternativesOf)
    .filter(({ _zod }) => ['object', 'record', 'any', 'unknown'].includes(_zod.def.type));
  if (objects.length === 0) return null;
  const schemas = new Map<string, Schema[]>();
  let open = false;
  for (const { _zod } of objects) {
    const { type, shape, catchall } = _zod.def as z.core.$ZodObjectDef;
    if (type !== 'object') return null;
    if (catchall && catchall._zod.def.type !== 'never') open = true;
    for (const [name, field] of Object.entries(shape)) schemas.set(name, [...(schemas.get(name) ?? []), field]);
  }
  return { schemas, open };
}

function elementsOf(alternatives: readonly Schema[]): Schema[] {
  return alternatives
    .flatMap(alternativesOf)
    .flatMap(({ _zod }) => (_zod.def.type === 'array' ? [(_zod.def as z.core.$ZodArrayDef).element] : []));
}

/** The schemas that a value may fit, without their wrappers. */
function alternativesOf(schema: Schema): Schema[] {
  const def = schema._zod.def as {
    type: string;
    innerType?: Schema;
    in?: Schema;
    options?: readonly Schema[];
    getter?: () => Schema;
  };
  if (def.innerType) return alternativesOf(def.innerType);
  if (def.type === 'pipe' && def.in && def.in._zod.def.type !== 'transform') return alternativesOf(def.in);
  if (def.type === 'union' && def.options) return def.options.flatMap(alternativesOf);
  if (def.type === 'lazy' && def.getter) return alternativesOf(def.getter());
  return [schema];
}

/** Whether the field may be left out, and `null` has no meaning of its own. */
function isOptional(schemas: readonly Schema[]): boolean {
  const takes = (value: unknown) => schemas.some((schema) => (schema as z.ZodType).safeParse(value).success);
  return takes(undefined) && !takes(null);
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}
