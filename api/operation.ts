import type { RouterContext, RouterMiddleware } from '@koa/router';
import type { z } from 'zod';
import type { ErrorCode } from '../domain/errors.js';
import type { IdempotencyKeys } from '../storage/idempotency-keys.js';
import type { RequestContext, RequestState } from './context.js';
import { answerOnce } from './idempotency.js';
import { read } from './validation.js';

/** What a route takes and gives: its requests are read by it, its answers checked by it, and `/openapi.json` is made of it. */
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
  /** Of the answer when all goes well. */
  status: number;
  answers: Data;
  /** The answer stands without the service's envelope. */
  bare?: boolean;
  /** Of the answer, where it is not JSON. */
  type?: string;
  /** The same answer with another status. */
  alsoStatus?: number;
  /** What this route may refuse beside what every route of its service may. */
  errors?: readonly ErrorCode[];
  /** Codes that this route's clients know by another name; the status stays. */
  shownAs?: Partial<Record<ErrorCode, ErrorCode>>;
  /** Given by a route that starts work: it then takes an `Idempotency-Key`. With a `form` the handler sees to it. */
  idempotencyKeys?: IdempotencyKeys;
}

export interface OperationInput<Query extends z.ZodType, Body extends z.ZodType, Data extends z.ZodType> {
  query: z.output<Query>;
  body: z.output<Body>;
  answer(data: z.input<Data>): void;
}

/** What a route carries along. */
export interface Described {
  operation: Operation;
  tag: string;
}

type Handler = RouterMiddleware<RequestState> & Described;

/**
 * Makes routes that describe themselves: `router.post('/things', operation({ … }, async (ctx, { body, answer }) => …))`.
 * @param tag the heading under which they are documented
 * @param write sends an answer in the service's own shape
 * @param bare whether that is without the service's envelope
 */
export function operations(
  tag: string,
  write: (ctx: RequestContext, status: number, data: unknown) => void,
  bare = false,
) {
  return <Data extends z.ZodType, Query extends z.ZodType = z.ZodUndefined, Body extends z.ZodType = z.ZodUndefined>(
    operation: Operation<Query, Body, Data>,
    handle: (ctx: RouterContext<RequestState>, input: OperationInput<Query, Body, Data>) => Promise<void> | void,
  ): Handler => {
    const { query, body, form, idempotencyKeys, status, type } = operation;
    const run = async (ctx: RouterContext<RequestState>) =>
      handle(ctx, {
        query: (query && read(query, ctx.query)) as z.output<Query>,
        body: (body && read(body, ctx.request.body ?? {})) as z.output<Body>,
        answer: (data) => {
          write(ctx, status, data);
          if (type !== undefined) ctx.type = type;
        },
      });
    const middleware: RouterMiddleware<RequestState> =
      idempotencyKeys && !form
        ? (ctx) => answerOnce(ctx, idempotencyKeys, ctx.request.text ?? '', () => run(ctx))
        : run;
    return Object.assign(middleware, { operation: { ...operation, bare }, tag });
  };
}

/** The description a route carries, if it was made by `operations()`. */
export function operationOf(middleware: unknown): Described | undefined {
  if (typeof middleware !== 'function' || !('operation' in middleware)) return undefined;
  const { operation, tag } = middleware as Handler;
  return { operation, tag };
}
