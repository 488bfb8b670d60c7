import { createReadStream } from 'node:fs';
import { open } from 'node:fs/promises';
import { createGunzip } from 'node:zlib';
import { SourceError } from '../../../domain/connectors/connectors.js';

/** Bytes of a listing after unzipping. The largest common ones are sitemaps, with up to 50 MB. */
export const MAX_LISTING_BYTES = 64 * 1024 * 1024;

/**
 * Reads a listing piece by piece, and unzips it when its first bytes are those of gzip.
 * @throws SourceError TOO_LARGE, INVALID_LISTING
 */
export async function* readListing(path: string): AsyncGenerator<Buffer> {
  const file = createReadStream(path);
  const stream = (await isGzip(path)) ? file.pipe(createGunzip()) : file;
  let bytes = 0;
  try {
    for await (const piece of stream) {
      bytes += piece.length;
      if (bytes > MAX_LISTING_BYTES) throw new SourceError('TOO_LARGE');
      yield piece;
    }
  } catch (error) {
    if (String((error as NodeJS.ErrnoException).code).startsWith('Z_')) throw new SourceError('INVALID_LISTING');
    throw error;
  } finally {
    file.destroy();
    stream.destroy();
  }
}

/** The text of a listing in UTF-8, without a byte order mark. */
export async function* readListingText(path: string): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  for await (const piece of readListing(path)) yield decoder.decode(piece, { stream: true });
}

async function isGzip(path: string): Promise<boolean> {
  const file = await open(path);
  try {
    const { buffer } = await file.read(Buffer.alloc(2), 0, 2, 0);
    return buffer[0] === 0x1f && buffer[1] === 0x8b;
  } finally {
    await file.close();
  }
}
