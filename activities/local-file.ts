import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { open } from 'node:fs/promises';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { Checkpoints } from '../domain/checkpoints.js';
import type { Extraction, FileKind } from '../domain/extraction.js';

/** Extracts the text of a local file. @throws ExtractionError; the signal's reason when it was aborted */
export interface TextExtractor {
  /** @param checkpoints store the scanned pages that have been read */
  extract(
    source: { path: string; kind: FileKind },
    signal?: AbortSignal,
    checkpoints?: Checkpoints,
  ): Promise<Extraction>;
}

/**
 * Detects what a file is.
 * @param head the beginning of the file, or all of it
 * @throws ExtractionError
 */
export type DetectFile<Kind> = (
  head: Buffer,
  options: { filename?: string; openStream?: () => Readable },
) => Promise<{ kind: Kind; mime_type: string }>;

/** Also detects files that have no text. */
export type DescribeFile = DetectFile<FileKind | 'audio' | 'unknown'>;

/** Detection reads this much of a file first, in bytes. */
const HEAD_BYTES = 64 * 1024;

/**
 * Detects by its content what a local file is.
 * @param filename decides between kinds of plain text only
 * @throws ExtractionError
 */
export async function detectLocalFile<Kind>(detect: DetectFile<Kind>, path: string, filename?: string) {
  return detect(await headOf(path), { filename, openStream: () => createReadStream(path) });
}

async function headOf(path: string): Promise<Buffer> {
  const file = await open(path);
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(HEAD_BYTES), 0, HEAD_BYTES, 0);
    return buffer.subarray(0, bytesRead);
  } finally {
    await file.close();
  }
}

/** @returns the SHA-256 of a local file, hex */
export async function hashOf(path: string): Promise<string> {
  const hash = createHash('sha256');
  await pipeline(createReadStream(path), hash);
  return hash.digest('hex');
}
