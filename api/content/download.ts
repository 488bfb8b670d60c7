import { Readable } from 'node:stream';
import type { FileStore } from '../../domain/file-store.js';
import type { ItemRecord } from '../../storage/content/items.js';
import type { RequestContext } from '../request-context.js';
import { type StoredContent, sendContent } from '../send-content.js';

/**
 * Sends the file or text of an item.
 * @throws ServiceError RANGE_NOT_SATISFIABLE, and the error of a file that cannot be read
 */
export function sendOriginal(ctx: RequestContext, files: FileStore, item: ItemRecord): Promise<void> {
  return sendContent(ctx, originalOf(item, files), `"${item._id}-${item.version}"`);
}

function originalOf({ id, source }: ItemRecord, files: FileStore): StoredContent {
  if (source.kind === 'file') {
    return {
      filename: source.filename || id,
      type: source.mime_type,
      size: source.size,
      read: (start, end) => files.read(source.file_id, { start, end }),
    };
  }
  const bytes = Buffer.from(source.text);
  return {
    filename: `${id}.txt`,
    type: 'text/plain; charset=utf-8',
    size: bytes.length,
    read: (start, end) => Readable.from([bytes.subarray(start, end)]),
  };
}
