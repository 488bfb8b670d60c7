import { createReadStream } from 'node:fs';
import { open } from 'node:fs/promises';
import { type Extraction, HEAD_BYTES } from '../../domain/extraction.js';
import {
  createExtractor,
  detectFileKind,
  type Extractor,
  type ExtractorOptions,
} from '../../providers/extraction/index.js';

/** The languages of test runs: bin/test.mjs. */
export const LANGUAGES_DIR = process.env.POSTBACK_OCR_LANGUAGES_DIR!;

/** An extractor with the languages of test runs. */
export function startExtractor(options: Partial<ExtractorOptions> = {}) {
  return createExtractor({ languagesDir: LANGUAGES_DIR, ...options });
}

/** Detects and extracts a file, as ingestion does. */
export async function detectAndExtract(
  extractor: Extractor,
  path: string,
  filename = path,
): Promise<Extraction & { kind: string }> {
  const file = await open(path);
  const { buffer, bytesRead } = await file.read(Buffer.alloc(HEAD_BYTES), 0, HEAD_BYTES, 0);
  await file.close();
  const openStream = () => createReadStream(path);
  const { kind } = await detectFileKind(buffer.subarray(0, bytesRead), { filename, openStream });
  return { kind, ...(await extractor.extract({ path, kind })) };
}

/** The text of all sections. */
export const textOf = ({ sections }: Extraction) => sections.map(({ text }) => text).join('\n');
