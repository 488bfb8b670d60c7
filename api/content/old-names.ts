/**
 * What the interface was called before: `tenant_id` for `database`, `sub_tenant_id` for `collection`, and the routes
 * under `/tenants` with codes of their own (specification, "Versioning" and "Errors").
 */
import type { RouterContext } from '@koa/router';
import type { Middleware } from 'koa';
import { z } from 'zod';
import { type ErrorCode, ServiceError } from '../../domain/errors.js';
import type { RequestState } from '../context.js';
import type { Operation, OperationInput } from '../operation.js';
import { contentOperations } from './document.js';

const OLD_NAMES: Record<string, string> = {
  database: 'tenant_id',
  collection: 'sub_tenant_id',
  collections: 'sub_tenants',
  databases: 'tenants',
};
const TODAYS_NAMES: Record<string, string> = { tenant_id: 'database', sub_tenant_id: 'collection' };

const OLD_CODES = { DATABASE_NOT_FOUND: 'NOT_FOUND', DATABASE_ALREADY_EXISTS: 'INVALID_INPUT' } as const;
/** Clients of this one route branch on the status. */
export const METADATA_SCHEMA_CODES = {
  INVALID_PARAMETERS: 'INTERNAL_ERROR',
  METADATA_FIELD_CONFLICT: 'INTERNAL_ERROR',
} as const;

/** Since when, as RFC 9745 writes it: 2026-01-01. */
const DEPRECATED_SINCE = '@1767225600';

/** An item may be called `metadata-schema`, too. */
const METADATA_SCHEMA_PATH = /^\/(databases|tenants)\/[^/]+\/metadata-schema\/?$/;
const isTenantsPath = (path: string) => /^\/tenants(\/|$)/.test(path);

/** The route decides the code, wherever the error comes from; and answers of `/tenants` say that it is deprecated. */
export function codesOfRoute(): Middleware<RequestState> {
  return async (ctx, next) => {
    const old = isTenantsPath(ctx.path);
    if (old) {
      ctx.set('Deprecation', DEPRECATED_SINCE);
      ctx.set('Link', `<${ctx.path.replace(/^\/tenants/, '/databases')}>; rel="successor-version"`);
    }
    const codes: Partial<Record<ErrorCode, ErrorCode>> = {
      ...(old ? OLD_CODES : {}),
      ...(ctx.method === 'PATCH' && METADATA_SCHEMA_PATH.test(ctx.path) ? METADATA_SCHEMA_CODES : {}),
    };
    try {
      await next();
    } catch (error) {
      const shown = error instanceof ServiceError ? codes[error.code] : undefined;
      if (shown) (error as ServiceError).shownAs = shown;
      throw error;
    }
  };
}

/** `tenant_id` and `sub_tenant_id` are read as `database` and `collection` where these are absent. */
export function oldNamesAccepted(): Middleware<RequestState> {
  return async (ctx, next) => {
    if (!isTenantsPath(ctx.path)) {
      const { query } = ctx;
      if (hasOldNames(query)) ctx.query = inTodaysNames(query) as typeof query;
      if (hasOldNames(ctx.request.body)) ctx.request.body = inTodaysNames(ctx.request.body as object);
    }
    await next();
  };
}

/** Renames the fields of a request; a field that is there under both names counts under today's. */
export function inTodaysNames(fields: object): Record<string, unknown> {
  const renamed: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(fields)) {
    const today = Object.hasOwn(TODAYS_NAMES, name) ? TODAYS_NAMES[name]! : name;
    if (today === name || !Object.hasOwn(fields, today)) renamed[today] = value;
  }
  return renamed;
}

function hasOldNames(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return Object.keys(TODAYS_NAMES).some((name) => Object.hasOwn(value, name));
}

const operation = contentOperations('Tenants');

/** A route of `/databases` as `/tenants` has it: the same but for names and codes. */
export function tenantsOperation(make = operation): typeof operation {
  return ((
    today: Operation,
    handle: (ctx: RouterContext<RequestState>, input: OperationInput<z.ZodType, z.ZodType, z.ZodType>) => unknown,
  ) =>
    make(
      {
        ...today,
        description: `Deprecated: use the same route of \`/databases\`. ${today.description ?? ''}`.trim(),
        ...(today.query ? { query: schemaInOldNames(today.query) } : {}),
        ...(today.body ? { body: schemaInOldNames(today.body), example: inOldNames(today.example) } : {}),
        answers: schemaInOldNames(today.answers),
        shownAs: { ...today.shownAs, ...OLD_CODES },
      } as Operation<z.ZodType, z.ZodType>,
      (ctx, { query, body, answer }) => {
        return handle(ctx, {
          query: query && inTodaysNames(query as object),
          body: body && inTodaysNames(body as object),
          answer: (data) => answer(inOldNames(data)),
        }) as Promise<void>;
      },
    )) as typeof operation;
}

function inOldNames(data: unknown): unknown {
  if (Array.isArray(data)) return data.map(inOldNames);
  if (typeof data !== 'object' || data === null) return data;
  return Object.fromEntries(Object.entries(data).map(([name, value]) => [OLD_NAMES[name] ?? name, inOldNames(value)]));
}

function schemaInOldNames(schema: z.ZodType): z.ZodType {
  if (schema instanceof z.ZodArray) return z.array(schemaInOldNames(schema.element as z.ZodType));
  if (!(schema instanceof z.ZodObject)) return schema;
  const fields = Object.entries(schema.shape as Record<string, z.ZodType>);
  return z.object(
    Object.fromEntries(fields.map(([name, field]) => [OLD_NAMES[name] ?? name, schemaInOldNames(field)])),
  );
}
