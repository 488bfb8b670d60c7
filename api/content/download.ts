import { Readable } from 'node:stream';
import parseRange from 'range-parser';
import { ServiceError } from '../../domain/errors.js';
import type { FileStore } from '../../domain/file-store.js';
import type { ItemRecord } from '../../storage/content/items.js';
import type { RequestContext } from '../request-context.js';

/**
 * Sends the file or text of an item, byte for byte, or one range of it. Always as an attachment: an ingested page must not
 * run under the address of the API.
 * @throws ServiceError RANGE_NOT_SATISFIABLE
 */
export function sendOriginal(ctx: RequestContext, files: FileStore, item: ItemRecord): void {
  const original = originalOf(item, files);
  const etag = `"${item._id}-${item.version}"`;
  ctx.attachment(original.filename);
  ctx.type = original.type;
  ctx.set({ 'Accept-Ranges': 'bytes', ETag: etag, 'X-Content-Type-Options': 'nosniff' });
  const range = requestedRange(ctx, original.size, etag);
  const { start, end } = range ?? { start: 0, end: original.size };
  if (range) ctx.set('Content-Range', `bytes ${start}-${end - 1}/${original.size}`);
  ctx.status = range ? 206 : 200;
  // After the type: Koa sets its own type for a stream that has none.
  ctx.body = original.read(start, end);
  ctx.length = end - start;
}

/** @returns null for the whole content: no range, several ranges (which a server may ignore), or an outdated `If-Range` */
function requestedRange(ctx: RequestContext, size: number, etag: string): { start: number; end: number } | null {
  const header = ctx.get('Range');
  const condition = ctx.get('If-Range');
  if (header === '' || (condition !== '' && condition !== etag)) return null;
  const ranges = parseRange(size, header);
  if (ranges === -1) {
    ctx.remove('Content-Disposition');
    ctx.set('Content-Range', `bytes */${size}`);
    throw new ServiceError('RANGE_NOT_SATISFIABLE', `The content has ${size} bytes.`);
  }
  if (ranges === -2 || ranges.type !== 'bytes' || ranges.length !== 1) return null;
  const [{ start, end }] = ranges as unknown as [parseRange.Range];
  return { start, end: end + 1 };
}

/** `read` takes the offset of the first byte, and that after the last. */
function originalOf({ id, source }: ItemRecord, files: FileStore) {
  if (source.kind === 'file') {
    return {
      filename: source.filename || id,
      type: source.mime_type,
      size: source.size,
      read: (start: number, end: number) => files.read(source.file_id, { start, end }),
    };
  }
  const bytes = Buffer.from(source.text);
  return {
    filename: `${id}.txt`,
    type: 'text/plain; charset=utf-8',
    size: bytes.length,
    read: (start: number, end: number) => Readable.from([bytes.subarray(start, end)]),
  };
}
