import { readFile } from 'node:fs/promises';
import { ExtractionError } from '../../../domain/extraction.js';

/** The end marker is in the last bytes of a complete file; some writers add padding after it. */
const TAIL_BYTES = 4_096;

/**
 * Reads a PDF and checks that it is complete. PDF libraries would repair a truncated file by silently dropping pages.
 * @throws ExtractionError E2001 the end is missing
 */
export async function readWholePdf(path: string): Promise<Buffer> {
  const file = await readFile(path);
  if (!/%%EOF|startxref/.test(file.subarray(-TAIL_BYTES).toString('latin1')))
    throw new ExtractionError('E2001', 'The end of the file is missing.');
  return file;
}

/** Bytes around `/Width` to search for `/Height`; picture dictionaries are short. */
const REACH = 1_000;
const WIDTH = Buffer.from('/Width');

/**
 * The size that the largest picture in a PDF states. A renderer would have to decode all its pixels, or would omit the
 * picture and show an empty page. Pictures are never inside compressed objects, so their sizes are readable in the file.
 */
export function largestPicture(pdf: Buffer): { width: number; height: number } {
  let largest = { width: 0, height: 0 };
  for (let at = pdf.indexOf(WIDTH); at !== -1; at = pdf.indexOf(WIDTH, at + WIDTH.length)) {
    const width = /^\/Width\s+(\d{1,9})\b/.exec(pdf.toString('latin1', at, at + 40))?.[1];
    const height = width && heightNear(pdf, at);
    if (height && Number(width) * Number(height) > largest.width * largest.height)
      largest = { width: Number(width), height: Number(height) };
  }
  return largest;
}

/** The height in the same dictionary, before or after the width. */
function heightNear(pdf: Buffer, at: number): string | undefined {
  const before = pdf
    .toString('latin1', Math.max(0, at - REACH), at)
    .split(/\bobj\b/)
    .at(-1)!;
  const after = pdf.toString('latin1', at, at + REACH).split(/\b(?:endobj|stream)\b/)[0]!;
  return /\/Height\s+(\d{1,9})\b/.exec(`${before} ${after}`)?.[1];
}
