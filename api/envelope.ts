import { STATUS_CODES } from 'node:http';
import { z } from 'zod';
import type { ErrorCode, ServiceError } from '../domain/errors.js';
import type { RequestContext } from './request-context.js';

/** The shape of successful responses: how they are sent, and how `/openapi.json` describes them. */
export interface Envelope {
  send(ctx: RequestContext, status: number, data: unknown): void;
  schema(data: z.ZodType): z.ZodType;
}

/** The shape of a service's errors. */
export interface ErrorShape {
  send(ctx: RequestContext, error: ServiceError): void;
  schema(code: z.ZodType<ErrorCode>): z.ZodType;
}

const metaSchema = z
  .object({
    request_id: z.string(),
    latency_ms: z.number().meta({ description: 'Milliseconds.' }),
  })
  .meta({ id: 'Meta' });

function metaOf(ctx: RequestContext): z.input<typeof metaSchema> {
  return {
    request_id: ctx.state.request_id,
    latency_ms: Math.round((performance.now() - ctx.state.started) * 100) / 100,
  };
}

/** The data alone: all services except content, and the content routes that the specification names. */
export const plainEnvelope: Envelope = {
  send(ctx, status, data) {
    ctx.status = status;
    ctx.body = data;
  },
  schema: (data) => data,
};

/** What the message of an error says, for programs. */
const details = z
  .record(z.string(), z.unknown())
  .optional()
  .meta({ description: 'Of an exceeded quota: `quota`, `used` and `limit`.' });

function detailsOf(error: ServiceError): { details?: object } {
  return error.details === undefined ? {} : { details: error.details };
}

/** The content service's envelope, for successes and errors alike (specification, "Errors"). */
export const contentEnvelope: Envelope = {
  send(ctx, status, data) {
    ctx.status = status;
    ctx.body = { success: true, data, error: null, meta: metaOf(ctx) };
  },
  schema: (data) => z.object({ success: z.literal(true), data, error: z.null(), meta: metaSchema }),
};

export const contentErrors: ErrorShape = {
  send(ctx, error) {
    const code = ctx.state.errorCodeAliases?.[error.code] ?? error.code;
    const described = { code, message: error.message, ...detailsOf(error) };
    sendError(ctx, error, { success: false, data: null, error: described, meta: metaOf(ctx) });
  },
  schema: (code) =>
    z.object({
      success: z.literal(false),
      data: z.null(),
      error: z.object({ code, message: z.string(), details }),
      meta: metaSchema,
    }),
};

/** `{error: {code, message}}`: the AI job service, and the routes that need no key. */
export const codedErrors: ErrorShape = {
  send: (ctx, error) =>
    sendError(ctx, error, { error: { code: error.code, message: error.message, ...detailsOf(error) } }),
  schema: (code) => z.object({ error: z.object({ code, message: z.string(), details }) }),
};

/** `{error, message}` of the crew service: the title of the status, and the message. Invalid input is 400, never 422. */
export const crewErrors: ErrorShape = {
  send(ctx, error) {
    const status = error.status === 422 ? 400 : error.status;
    sendError(ctx, error, { error: STATUS_CODES[status], message: error.message, ...detailsOf(error) }, status);
  },
  schema: () =>
    z.object({
      error: z.string().meta({ description: 'The title of the status.', example: 'Bad Request' }),
      message: z.string(),
      details,
    }),
};

/** `{error: {type, code, message}}` of the payment service; the type says how a client can handle the error. */
export const paymentErrors: ErrorShape = {
  send(ctx, error) {
    const type = paymentErrorType(error.status);
    sendError(ctx, error, { error: { type, code: error.code, message: error.message, ...detailsOf(error) } });
  },
  schema: (code) => z.object({ error: z.object({ type: z.string(), code, message: z.string(), details }) }),
};

function paymentErrorType(status: number): string {
  if (status === 401) return 'authentication_error';
  if (status === 403) return 'permission_error';
  if (status === 429) return 'rate_limit_error';
  return status >= 500 ? 'api_error' : 'invalid_request_error';
}

function sendError(ctx: RequestContext, error: ServiceError, body: object, status = error.status): void {
  ctx.status = status;
  if (error.retryAfterSeconds !== undefined) ctx.set('Retry-After', String(Math.ceil(error.retryAfterSeconds)));
  ctx.body = body;
}
