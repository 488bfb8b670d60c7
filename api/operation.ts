import type { RouterContext, RouterMiddleware } from '@koa/router';
import type { ClientSession } from 'mongodb';
import type { z } from 'zod';
import type { ErrorCode } from '../domain/errors.js';
import type { IdempotencyKeys } from '../storage/idempotency-keys.js';
import type { Envelope } from './envelope.js';
import { respondOnce } from './idempotency.js';
import type { RequestContext, RequestState } from './request-context.js';
import { read } from './validation.js';

/** What a route takes and gives: it reads the requests, types and checks the responses, and makes `/openapi.json`. */
export interface Operation<
  Query extends z.ZodType = z.ZodType,
  Body extends z.ZodType = z.ZodType,
  Data extends z.ZodType = z.ZodType,
> {
  summary: string;
  /** Markdown. */
  description?: string;
  query?: Query;
  /** Headers beside those of every route of its service. */
  headers?: z.ZodObject;
  /** A JSON body. */
  body?: Body;
  /** A body as a client may send it, for the document. */
  example?: z.input<Body>;
  /** A `multipart/form-data` body, for the document only: the handler reads it while it arrives. */
  form?: z.ZodType;
  /** Status of a successful response. */
  status: number;
  /** Data of a successful response. */
  response: Data;
  /** Media type of the response, where it is not the service's JSON. */
  type?: string;
  /** The same response with another status. */
  alsoStatus?: number;
  /** Errors of this route beside those of every route of its service. */
  errors?: readonly ErrorCode[];
  /** Codes that this route's clients know by another name; the status stays. */
  shownAs?: Partial<Record<ErrorCode, ErrorCode>>;
  /** Deprecated names of fields that requests may use, each with the current name. The current name wins. */
  aliases?: FieldNames;
  /** Set on a deprecated route. */
  deprecated?: Deprecation;
  /** Set on a route that starts work: it then takes an `Idempotency-Key`. With a `form` the handler sees to it. */
  idempotencyKeys?: IdempotencyKeys;
}

export type FieldNames = Readonly<Record<string, string>>;

export interface Deprecation {
  /** Since when, as RFC 9745 writes it. */
  since: string;
  /** @returns the path of the route that replaces this one */
  successor(path: string): string;
  /** The current names of fields, each with the name that this route's requests and responses use. */
  fields: FieldNames;
}

export interface OperationInput<Query extends z.ZodType, Body extends z.ZodType, Data extends z.ZodType> {
  query: z.output<Query>;
  body: z.output<Body>;
  respond(data: z.input<Data>): void;
  /**
   * Responds, and does the work that the response reports. With an `Idempotency-Key` the response is saved in the
   * transaction of the work, so that both happen or neither.
   * @param work writes with `tx`, which is undefined for a request without a key
   */
  respondWith<Result>(data: z.input<Data>, work: (tx?: ClientSession) => Promise<Result>): Promise<Result>;
}

/** What a route carries along. */
export interface Described {
  operation: Operation;
  envelope: Envelope;
  tag: string;
}

type Handler = RouterMiddleware<RequestState> & Described;

/**
 * Makes routes that describe themselves: `router.post('/things', operation({ … }, async (ctx, { body, respond }) => …))`.
 * @param tag the heading under which they are documented
 * @param common what all of these operations share
 */
export function operations(
  tag: string,
  envelope: Envelope,
  common: Pick<Operation, 'aliases' | 'deprecated' | 'shownAs'> = {},
) {
  return <Data extends z.ZodType, Query extends z.ZodType = z.ZodUndefined, Body extends z.ZodType = z.ZodUndefined>(
    own: Operation<Query, Body, Data>,
    handle: (ctx: RouterContext<RequestState>, input: OperationInput<Query, Body, Data>) => Promise<void> | void,
  ): Handler => {
    const operation = { ...common, ...own, shownAs: { ...own.shownAs, ...common.shownAs } };
    const { query, body, form, idempotencyKeys, status, type, deprecated } = operation;
    const names = requestNames(operation);
    const readNamed = <Schema extends z.ZodType>(schema: Schema | undefined, value: unknown) =>
      (schema && read(schema, renamed(value, names), { shownAs: deprecated?.fields })) as z.output<Schema>;
    const run = async (ctx: RouterContext<RequestState>) => {
      const respond = (data: z.input<Data>) => {
        envelope.send(ctx, status, deprecated ? deeplyRenamed(data, deprecated.fields) : data);
        if (type !== undefined) ctx.type = type;
      };
      await handle(ctx, {
        query: readNamed(query, ctx.query),
        body: readNamed(body, ctx.request.body ?? {}),
        respond,
        respondWith(data, work) {
          respond(data);
          return ctx.state.saveResponseWith ? ctx.state.saveResponseWith(work) : work();
        },
      });
    };
    const middleware: RouterMiddleware<RequestState> =
      idempotencyKeys && !form
        ? (ctx) => respondOnce(ctx, idempotencyKeys, ctx.request.text ?? '', () => run(ctx))
        : run;
    return Object.assign(middleware, { operation, envelope, tag });
  };
}

/** The description a route carries, if it was made by `operations()`. */
export function operationOf(middleware: unknown): Described | undefined {
  if (typeof middleware !== 'function' || !('operation' in middleware)) return undefined;
  const { operation, envelope, tag } = middleware as Handler;
  return { operation, envelope, tag };
}

/** Every response of a deprecated route says so, errors included (RFC 9745). */
export function sendDeprecation(ctx: RequestContext, deprecated: Deprecation | undefined): void {
  if (!deprecated) return;
  ctx.set('Deprecation', deprecated.since);
  ctx.set('Link', `<${deprecated.successor(ctx.path)}>; rel="successor-version"`);
}

function requestNames({ aliases, deprecated }: Operation): FieldNames | undefined {
  if (!deprecated) return aliases;
  return Object.fromEntries(Object.entries(deprecated.fields).map(([current, old]) => [old, current]));
}

/** Renames the fields of a request; a field that is there under both names counts under the current name. */
export function renamed(value: unknown, names: FieldNames | undefined): unknown {
  if (!names || !isObject(value) || !Object.keys(names).some((name) => Object.hasOwn(value, name))) return value;
  const fields: Record<string, unknown> = {};
  for (const [name, field] of Object.entries(value)) {
    const current = Object.hasOwn(names, name) ? names[name]! : name;
    if (current === name || !Object.hasOwn(value, current)) fields[current] = field;
  }
  return fields;
}

/** Renames the fields of a response. */
export function deeplyRenamed(data: unknown, names: FieldNames): unknown {
  if (Array.isArray(data)) return data.map((part) => deeplyRenamed(part, names));
  if (!isObject(data)) return data;
  return Object.fromEntries(
    Object.entries(data).map(([name, part]) => [
      Object.hasOwn(names, name) ? names[name]! : name,
      deeplyRenamed(part, names),
    ]),
  );
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
