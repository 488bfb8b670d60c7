import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { open } from 'node:fs/promises';
import { pipeline } from 'node:stream/promises';
import type { Checkpoints } from '../domain/checkpoints.js';
import { type DetectKind, type Extraction, type FileKind, HEAD_BYTES } from '../domain/extraction.js';
import type { OcrLanguage } from '../domain/ocr-languages.js';

/** Extracts the text of a local file. @throws ExtractionError; the signal's reason when it was aborted */
export interface TextExtractor {
  /** @param checkpoints store the scanned pages that have been read */
  extract(
    source: { path: string; kind: FileKind; language?: OcrLanguage; org?: string },
    signal?: AbortSignal,
    checkpoints?: Checkpoints,
  ): Promise<Extraction>;
}

/** Also detects files that have no text. */
export type DescribeFile = DetectKind<FileKind | 'audio' | 'unknown'>;

/**
 * Detects by its content what a local file is.
 * @param filename decides between kinds of plain text only
 * @throws ExtractionError
 */
export async function detectLocalFile<Kind>(detect: DetectKind<Kind>, path: string, filename?: string) {
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
export async function sha256OfFile(path: string): Promise<string> {
  const hash = createHash('sha256');
  await pipeline(createReadStream(path), hash);
  return hash.digest('hex');
}
