import { createHash } from 'node:crypto';
import { type Readable, Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { ExtractionError, type FileKind } from '../domain/extraction.js';
import type { FileStore } from '../domain/file-store.js';
import { newFileId } from '../domain/ids.js';
import type { UploadedFile } from './multipart.js';

/** What has come of one uploaded file. */
export interface FileReceipt<Kind = FileKind> {
  file_id: string;
  /** Bytes. */
  size: number;
  /** Of its bytes, hex. */
  sha256: string;
  detected: { kind: Kind; mime_type: string } | null;
  /** Set when the file cannot be taken; nothing is queued for it. */
  refusal?: ExtractionError;
}

/** Detection by content looks at this much of a file's beginning first. */
const HEAD_BYTES = 64 * 1024;

/** Tells what a file is by its content. @throws ExtractionError for one that cannot be taken */
export type DetectKind<Kind = FileKind> = (
  head: Buffer,
  options: { filename?: string; openStream?: () => Readable },
) => Promise<{ kind: Kind; mime_type: string }>;

/** Streams an upload into the file store, then tells what it is. */
export async function receiveFile<Kind>(
  { files, detectKind }: { files: FileStore; detectKind: DetectKind<Kind> },
  stream: Readable,
  filename: string,
  owner: { org: string; batch: string },
): Promise<FileReceipt<Kind>> {
  const file_id = newFileId();
  const head: Buffer[] = [];
  const hash = createHash('sha256');
  let size = 0;
  const watch = new Transform({
    transform(piece: Buffer, _encoding, done) {
      if (size < HEAD_BYTES) head.push(piece.subarray(0, HEAD_BYTES - size));
      size += piece.length;
      hash.update(piece);
      done(null, piece);
    },
  });
  await pipeline(stream, watch, (content) => files.write(file_id, owner, content));
  const sha256 = hash.digest('hex');
  try {
    const detected = await detectKind(Buffer.concat(head), { filename, openStream: () => files.read(file_id) });
    return { file_id, size, sha256, detected };
  } catch (error) {
    if (!(error instanceof ExtractionError)) {
      await files.remove(file_id);
      throw error;
    }
    return { file_id, size, sha256, detected: null, refusal: error };
  }
}

/**
 * What a form says, without how it was written down: clients make up another boundary for each request, so its bytes
 * differ where nothing else does.
 */
export function contentOf(fields: ReadonlyMap<string, string>, files: readonly UploadedFile<FileReceipt>[]): string {
  return JSON.stringify([
    [...fields].sort(([a], [b]) => (a < b ? -1 : 1)),
    files.map(({ field, filename, stored }) => [field, filename, stored.sha256]),
  ]);
}
