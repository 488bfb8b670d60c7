import type { RouterContext, RouterMiddleware } from '@koa/router';
import type { ClientSession } from 'mongodb';
import { z } from 'zod';
import type { Principal, Scope } from '../domain/api-keys.js';
import { type ErrorCode, ServiceError } from '../domain/errors.js';
import type { IdempotencyKeys } from '../storage/idempotency-keys.js';
import { type AuditDeclaration, recordAct } from './audited.js';
import type { Envelope } from './envelope.js';
import { type FieldNames, invert, renameAllFields, renameFields } from './field-names.js';
import { respondOnce } from './idempotency.js';
import type { RequestState } from './request-context.js';
import { read } from './validation.js';

/**
 * The declaration of a route: its handler gets requests that have been validated by it, sends responses of its type,
 * and `/openapi.json` is generated from it.
 */
export interface Operation<
  Query extends z.ZodType = z.ZodType,
  Body extends z.ZodType = z.ZodType,
  Data extends z.ZodType = z.ZodType,
> {
  /** In the imperative: "List databases". */
  summary: string;
  /** Markdown. */
  description?: string;
  query?: Query;
  /** Request headers in addition to those of every route of the service. */
  headers?: z.ZodObject;
  /** A JSON body. */
  body?: Body;
  /** An example of the JSON body, for the document. */
  example?: z.input<Body>;
  /**
   * A `multipart/form-data` body, for the document only: the handler reads it while it arrives. With a `body` too, clients
   * choose, and the handler reads both.
   */
  form?: z.ZodObject;
  /** Status of a successful response; by default 200. */
  status?: number;
  /** What a key needs for this route; by default `read` for GET and `write` for other methods. */
  scope?: Scope;
  /** A second status with which the handler sends the same response. */
  alternativeStatus?: number;
  /** A second status with which the handler sends no body. */
  emptyStatus?: number;
  /** Data of a successful response. */
  response: Data;
  /** Media type of a successful response that is not JSON. */
  type?: string;
  /** Errors in addition to those of every route of the service. */
  errors?: readonly ErrorCode[];
  /** Codes that this route reports under another name; the status stays. */
  errorCodeAliases?: Partial<Record<ErrorCode, ErrorCode>>;
  /** Deprecated field names that requests may still use, each with the current name. */
  aliases?: FieldNames;
  deprecated?: Deprecation;
  /**
   * Set on a route that starts work: its requests may carry an `Idempotency-Key`. A handler that reads a `form` calls
   * `respondOnce` itself.
   */
  idempotencyKeys?: IdempotencyKeys;
  /** Set on a route of administrators: the audit log has each of its requests that is not rejected. */
  audit?: AuditDeclaration<z.output<Body>, z.input<Data>>;
}

/** Marks a deprecated route, which uses the field names of its version. */
export interface Deprecation {
  /** The `Deprecation` header (RFC 9745): `@` and a Unix time in seconds. */
  since: string;
  /** @returns the path that replaces this one */
  successor(path: string): string;
  /** Current field names, each with the name in this route's requests and responses. */
  fields: FieldNames;
}

/** Arguments of a handler in addition to the Koa context. */
export interface OperationInput<Query extends z.ZodType, Body extends z.ZodType, Data extends z.ZodType> {
  /** The organisation of the key. */
  org: string;
  query: z.output<Query>;
  body: z.output<Body>;
  respond(data: z.input<Data>): void;
  /**
   * Responds and does the work that the response reports. With an `Idempotency-Key` the response is saved in the
   * transaction of the work: either both happen or neither does.
   * @param work writes with `tx`, which is undefined for a request without a key
   */
  respondWith<Result>(data: z.input<Data>, work: (tx?: ClientSession) => Promise<Result>): Promise<Result>;
}

/** A declaration, with the settings that `operations()` adds to it. */
export interface DeclaredOperation {
  operation: Operation;
  envelope: Envelope;
  tag: string;
}

type Handler = RouterMiddleware<RequestState> & { declared: DeclaredOperation };

/**
 * Creates a function that declares routes: `router.post('/things', operation({ … }, async (ctx, { body, respond }) => …))`.
 * @param tag the heading under which the routes are documented
 * @param common applies to all of these routes
 */
export function operations(
  tag: string,
  envelope: Envelope,
  common: Pick<Operation, 'aliases' | 'deprecated' | 'errorCodeAliases'> = {},
) {
  return <Data extends z.ZodType, Query extends z.ZodType = z.ZodUndefined, Body extends z.ZodType = z.ZodUndefined>(
    own: Operation<Query, Body, Data>,
    handle: (ctx: RouterContext<RequestState>, input: OperationInput<Query, Body, Data>) => Promise<void> | void,
  ): Handler => {
    const operation = { ...common, ...own, errorCodeAliases: { ...own.errorCodeAliases, ...common.errorCodeAliases } };
    const { query, body, form, idempotencyKeys, status = 200, type, deprecated } = operation;

    const run = async (ctx: RouterContext<RequestState>) => {
      let sent: z.input<Data> | undefined;
      const respond = (data: z.input<Data>) => {
        sent = data;
        envelope.send(ctx, status, deprecated ? renameAllFields(data, deprecated.fields) : data);
        if (type !== undefined) ctx.type = type;
      };
      const input: OperationInput<Query, Body, Data> = {
        // Routes that need no key have no principal.
        org: ctx.state.principal?.org,
        query: readInput(operation, query ?? noParameters, ctx.query, true) as z.output<Query>,
        body: readInput(
          operation,
          form ? undefined : body,
          ctx.request.body === undefined ? {} : ctx.request.body,
        ) as z.output<Body>,
        respond,
        respondWith(data, work) {
          respond(data);
          return ctx.state.saveResponseWith ? ctx.state.saveResponseWith(work) : work();
        },
      };
      await recordAct(operation.audit, ctx, input.body, async () => {
        await handle(ctx, input);
        return sent;
      });
    };
    const middleware: RouterMiddleware<RequestState> = async (ctx) => {
      // Routes that need no key have no principal.
      if (ctx.state.principal) requireScope(ctx.state.principal, scopeOf(operation, ctx.method));
      await (idempotencyKeys && !form
        ? respondOnce(
            ctx,
            idempotencyKeys,
            () => [ctx.request.text ?? ''],
            () => run(ctx),
          )
        : run(ctx));
      ctx.state.holdResponse?.(scopeOf(operation, ctx.method) === 'read');
    };
    return Object.assign(middleware, { declared: { operation, envelope, tag } });
  };
}

const isReading = (method: string): boolean => /^(get|head)$/i.test(method);

/** The scope that a request of this method needs. */
export function scopeOf({ scope }: Operation, method: string): Scope {
  return scope ?? (isReading(method) ? 'read' : 'write');
}

/** @throws ServiceError FORBIDDEN */
export function requireScope({ scopes }: Principal, scope: Scope): void {
  if (!scopes.includes(scope)) throw new ServiceError('FORBIDDEN', `This key does not have the scope "${scope}".`);
}

/** @returns the declaration of a handler; undefined for any other middleware */
export function declaredOperation(middleware: unknown): DeclaredOperation | undefined {
  return typeof middleware === 'function' && 'declared' in middleware ? (middleware as Handler).declared : undefined;
}

/** Of a route without a query. */
const noParameters = z.object({});

/** Validates a part of a request, whose fields may have deprecated names; messages use the names that the client uses. */
function readInput<Schema extends z.ZodType>(
  { aliases = {}, deprecated }: Operation,
  schema: Schema | undefined,
  value: unknown,
  parameters = false,
): z.output<Schema> {
  if (!schema) return undefined as z.output<Schema>;
  if (!deprecated) return read(schema, renameFields(value, aliases), { parameters });
  const fieldNames = deprecated.fields;
  return read(schema, renameFields(value, invert(fieldNames)), { fieldNames, parameters });
}
