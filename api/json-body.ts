import type { Middleware } from 'koa';
import getRawBody from 'raw-body';
import { ServiceError } from '../domain/errors.js';
import type { RequestState } from './request-context.js';

const MAX_JSON_BYTES = 1024 * 1024;

/**
 * Reads a JSON object into `ctx.request.body`; an absent body is `undefined`.
 * @throws ServiceError INVALID_PARAMETERS for anything that is not JSON, PAYLOAD_TOO_LARGE over `maxBytes`
 */
export function jsonBody(maxBytes = MAX_JSON_BYTES): Middleware<RequestState> {
  return async (ctx, next) => {
    const text = await readText(ctx.req, ctx.request.length, maxBytes);
    ctx.request.text = text;
    ctx.request.body = text.trim() === '' ? undefined : parse(text);
    await next();
  };
}

declare module 'koa' {
  interface Request {
    body?: unknown;
    /** The body as it came, for values whose notation matters. */
    text?: string;
  }
}

async function readText(request: NodeJS.ReadableStream, length: number | undefined, maxBytes: number): Promise<string> {
  try {
    return await getRawBody(request as import('node:http').IncomingMessage, {
      length,
      limit: maxBytes,
      encoding: 'utf8',
    });
  } catch (error) {
    if ((error as { type?: string }).type === 'entity.too.large') {
      throw new ServiceError('PAYLOAD_TOO_LARGE', `A JSON body may have ${maxBytes} bytes at the most.`);
    }
    throw new ServiceError('INVALID_PARAMETERS', 'The body did not arrive whole.');
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new ServiceError('INVALID_PARAMETERS', 'The body is not valid JSON.');
  }
}
