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

const NONE: readonly Schema[] = [];

/** A field that no alternative of the schema has. */
export interface UnknownField {
  path: readonly PropertyKey[];
  /** The known name that it resembles most. */
  meant: string | undefined;
}

/**
 * Compares a value with the fields of its schema. Objects whose fields the schema does not name, such as metadata, stay as they are.
 * @returns the value without the fields that are `null` without a meaning, because `null` for an optional field is "not given";
 * and the first field that the schema does not know, or null when it knows all, or allows others
 */
export function checkFields(schema: Schema, value: unknown): { given: unknown; unknown: UnknownField | null } {
  let unknown: UnknownField | null = null;
  /** The elements of a list have the same alternatives, whose fields are gathered once: a body may have thousands of elements. */
  const gathered = new Map<readonly Schema[], Fields | null>();
  const given = check([schema], value, []);
  return { given, unknown };

  function check(alternatives: readonly Schema[], part: unknown, path: readonly PropertyKey[]): unknown {
    if (Array.isArray(part)) {
      const elements = elementsOf(alternatives);
      return elements.length === 0 ? part : part.map((element, n) => check(elements, element, [...path, n]));
    }
    const fields = isObject(part) ? gather(alternatives) : null;
    if (!fields) return part;
    const checked: [string, unknown][] = [];
    for (const [name, field] of Object.entries(part as object)) {
      const schemas = fields.schemas.get(name) ?? NONE;
      if (field === null && isOptional(schemas)) continue;
      if (schemas.length === 0 && !fields.open) {
        unknown ??= { path: [...path, name], meant: nearestName(name, [...fields.schemas.keys()]) };
      }
      checked.push([name, check(schemas, field, [...path, name])]);
    }
    return Object.fromEntries(checked);
  }

  function gather(alternatives: readonly Schema[]): Fields | null {
    if (!gathered.has(alternatives)) gathered.set(alternatives, fieldsOf(alternatives));
    return gathered.get(alternatives)!;
  }
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
