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
  /** The body. What is undefined in it is not sent. */
  describe(error: ServiceError, ctx: RequestContext): object;
  schema(code: z.ZodType<ErrorCode>): z.ZodType;
  /** Invalid input is 400, never 422. */
  invalidInputIs400?: true;
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

/** The content service's envelope, for successes and errors alike (specification, "Errors"). */
export const contentEnvelope: Envelope = {
  send(ctx, status, data) {
    ctx.status = status;
    ctx.body = { success: true, data, error: null, meta: metaOf(ctx) };
  },
  schema: (data) => z.object({ success: z.literal(true), data, error: z.null(), meta: metaSchema }),
};

export const contentErrors: ErrorShape = {
  describe({ code, message, details }, ctx) {
    const described = { code: ctx.state.errorCodeAliases?.[code] ?? code, message, details };
    return { success: false, data: null, error: described, meta: metaOf(ctx) };
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
  describe: ({ code, message, details }) => ({ error: { code, message, details } }),
  schema: (code) => z.object({ error: z.object({ code, message: z.string(), details }) }),
};

/** `{error, message}` of the crew service: the title of the status, and the message. */
export const crewErrors: ErrorShape = {
  describe({ status, message, details }) {
    return { error: STATUS_CODES[status === 422 ? 400 : status], message, details };
  },
  schema: () =>
    z.object({
      error: z.string().meta({ description: 'The title of the status.', example: 'Bad Request' }),
      message: z.string(),
      details,
    }),
  invalidInputIs400: true,
};

/** `{error: {type, code, message}}` of the payment service; the type says how a client can handle the error. */
export const paymentErrors: ErrorShape = {
  describe({ status, code, message, details }) {
    return { error: { type: paymentErrorType(status), code, message, details } };
  },
  schema: (code) => z.object({ error: z.object({ type: z.string(), code, message: z.string(), details }) }),
};

function paymentErrorType(status: number): string {
  if (status === 401) return 'authentication_error';
  if (status === 403) return 'permission_error';
  if (status === 429) return 'rate_limit_error';
  return status >= 500 ? 'api_error' : 'invalid_request_error';
}
