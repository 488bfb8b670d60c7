/** JSON bodies: parsed as they arrive, and again with the exact numbers where these matter. */
import { isUtf8 } from 'node:buffer';
import type { IncomingMessage } from 'node:http';
import type { Middleware } from 'koa';
import { DEFAULT_JSON_BOUNDS, JsonBoundsError, parseBoundedJson } from '../domain/bounded-json.js';
import { canonicalJson, type Json, JsonError, parseExact } from '../domain/canonical-json.js';
import { ServiceError } from '../domain/errors.js';
import { GrowingBuffer } from '../domain/growing-buffer.js';
import { piecesOf, rejectCompressedBody } from './body-pieces.js';
import type { RequestState } from './request-context.js';

const MAX_JSON_BYTES = 1024 * 1024;

/**
 * Parses a JSON body into `ctx.request.body`, which is undefined for an empty body.
 * @throws ServiceError INVALID_PARAMETERS for a body that is not JSON or is compressed, PAYLOAD_TOO_LARGE for more than `maxBytes`,
 * VALIDATION_ERROR for too many values or levels
 */
export function jsonBody(maxBytes = MAX_JSON_BYTES): Middleware<RequestState> {
  return async (ctx, next) => {
    ctx.state.holdBody?.(Math.min(ctx.request.length ?? (isChunked(ctx.req) ? maxBytes : 0), maxBytes));
    rejectCompressedBody(ctx.req);
    const text = await readText(ctx.req, ctx.request.length, maxBytes);
    ctx.request.text = text;
    ctx.request.body = text.trim() === '' ? undefined : parse(text);
    await next();
  };
}

declare module 'koa' {
  interface Request {
    body?: unknown;
    /** The body as it was sent, for values whose notation matters. */
    text?: string;
  }
}

function isChunked({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined;
}

async function readText(request: IncomingMessage, length = 0, maxBytes: number): Promise<string> {
  const tooLarge = new ServiceError('PAYLOAD_TOO_LARGE', `A JSON body must not exceed ${maxBytes} bytes.`);
  if (length > maxBytes) throw tooLarge;
  const text = new GrowingBuffer();
  try {
    for await (const piece of piecesOf(request)) {
      text.append(piece);
      if (text.bytes.length > maxBytes) throw tooLarge;
    }
  } catch (error) {
    if (error === tooLarge) throw error;
    throw new ServiceError('INVALID_PARAMETERS', 'The body is incomplete.');
  }
  // Decoding would put a replacement character for each wrong byte, and the client would not learn that its text is damaged.
  if (!isUtf8(text.bytes)) throw new ServiceError('INVALID_PARAMETERS', 'The body is not valid JSON: it is not UTF-8.');
  return text.bytes.toString();
}

function parse(text: string): unknown {
  try {
    return parseBoundedJson(text, DEFAULT_JSON_BOUNDS);
  } catch (error) {
    if (error instanceof JsonBoundsError) throw new ServiceError('VALIDATION_ERROR', `The body ${error.message}.`);
    throw new ServiceError('INVALID_PARAMETERS', 'The body is not valid JSON.');
  }
}

/** Characters of one value as canonical JSON, including its indentation. */
const MAX_FIELD_LENGTH = 256 * 1024;

/**
 * Reads the fields of a body with the numbers as the client wrote them: 1.0 stays 1.0, and large integers keep their
 * digits.
 * @param text the body, a JSON object
 * @throws ServiceError VALIDATION_ERROR for an object with a repeated name, and for a body that is nested too deep
 */
export function parseKeepingNumbers(text: string): { [name: string]: Json } {
  return asValidationErrors('', () => parseExact(text) as { [name: string]: Json });
}

/**
 * Writes a field of such a body as canonical JSON.
 * @throws ServiceError VALIDATION_ERROR for a value that canonical JSON cannot represent, or that gets too long
 */
export function canonicalFieldJson(name: string, value: Json): string {
  return asValidationErrors(`${name}: `, () => {
    // Payloads have the value one level down, where indentation makes it longer.
    canonicalJson({ [name]: value }, MAX_FIELD_LENGTH);
    return canonicalJson(value);
  });
}

function asValidationErrors<Result>(prefix: string, work: () => Result): Result {
  try {
    return work();
  } catch (error) {
    if (error instanceof JsonError) throw new ServiceError('VALIDATION_ERROR', `${prefix}${error.message}`);
    throw error;
  }
}
