import { once } from 'node:events';
import type { Readable } from 'node:stream';
import parseRange from 'range-parser';
import { ServiceError } from '../domain/errors.js';
import type { RequestContext } from './request-context.js';

/** A stored file or text. */
export interface StoredContent {
  filename: string;
  /** Media type. */
  type: string;
  /** Bytes. */
  size: number;
  /** @param start offset of the first byte @param end offset after the last */
  read(start: number, end: number): Readable;
}

/**
 * Sends a stored content, byte for byte, or one range of it. Always as an attachment: a page that a client stored must not run
 * under the address of the API.
 * @param etag in quotes
 * @throws ServiceError RANGE_NOT_SATISFIABLE, and the error of a content that cannot be read
 */
export async function sendContent(
  ctx: RequestContext,
  { filename, type, size, read }: StoredContent,
  etag: string,
): Promise<void> {
  const range = requestedRange(ctx, size, etag);
  const { start, end } = range ?? { start: 0, end: size };
  const content = read(start, end);
  // Once the response has begun, an error could only end the connection.
  if (ctx.method !== 'HEAD') await once(content, 'readable');
  ctx.attachment(filename);
  ctx.type = type;
  ctx.set({ 'Accept-Ranges': 'bytes', ETag: etag, 'X-Content-Type-Options': 'nosniff' });
  if (range) ctx.set('Content-Range', `bytes ${start}-${end - 1}/${size}`);
  ctx.status = range ? 206 : 200;
  // After the type: Koa sets its own type for a stream that has none.
  ctx.body = content;
  ctx.length = end - start;
}

/** @returns null for the whole content: no range, several ranges (which a server may ignore), or an outdated `If-Range` */
function requestedRange(ctx: RequestContext, size: number, etag: string): { start: number; end: number } | null {
  const header = ctx.get('Range');
  const condition = ctx.get('If-Range');
  if (header === '' || (condition !== '' && condition !== etag)) return null;
  const ranges = parseRange(size, header);
  if (ranges === -1) {
    ctx.set('Content-Range', `bytes */${size}`);
    throw new ServiceError('RANGE_NOT_SATISFIABLE', `The content has ${size} bytes.`);
  }
  if (ranges === -2 || ranges.type !== 'bytes' || ranges.length !== 1) return null;
  const [{ start, end }] = ranges as unknown as [parseRange.Range];
  return { start, end: end + 1 };
}
