import { type Readable, Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { ExtractionError, type FileKind } from '../domain/extraction.js';
import { newFileId } from '../domain/ids.js';
import type { Files } from '../storage/files.js';

/** What has come of one uploaded file. */
export interface FileReceipt<Kind = FileKind> {
  file_id: string;
  /** Bytes. */
  size: number;
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
  { files, detectKind }: { files: Files; detectKind: DetectKind<Kind> },
  stream: Readable,
  filename: string,
  owner: { org: string; batch: string },
): Promise<FileReceipt<Kind>> {
  const file_id = newFileId();
  const head: Buffer[] = [];
  let size = 0;
  const watch = new Transform({
    transform(piece: Buffer, _encoding, done) {
      if (size < HEAD_BYTES) head.push(piece.subarray(0, HEAD_BYTES - size));
      size += piece.length;
      done(null, piece);
    },
  });
  const upload = files.write(file_id, owner);
  try {
    await pipeline(stream, watch, upload);
  } catch (error) {
    await files.removePieces(upload);
    throw error;
  }
  try {
    const detected = await detectKind(Buffer.concat(head), { filename, openStream: () => files.read(file_id) });
    return { file_id, size, detected };
  } catch (error) {
    if (!(error instanceof ExtractionError)) {
      await files.remove(file_id);
      throw error;
    }
    return { file_id, size, detected: null, refusal: error };
  }
}
