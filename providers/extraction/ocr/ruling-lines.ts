import sharp from 'sharp';
import { type GreyPixels, greyPixels } from './picture.js';

/** Strokes of letters are shorter than this: twice the height of large print at 210 dpi. */
const MIN_RUN = 80;
/** Pixels of a stroke that the grain of the paper may have made light. */
const MAX_BREAK = 2;
/** Pixels beside a line that are its blurred edge. */
const EDGE = 2;
/** A pixel is ink below this share of the paper's grey. */
const INK = 0.7;

/**
 * Paints over the lines that are drawn around the cells of a table, because the engine takes a ruled table for a picture
 * and leaves most of its text unread.
 * @param png grey
 */
export async function eraseRulingLines(png: Buffer): Promise<Buffer> {
  const image = sharp(png);
  const { density } = await image.metadata();
  const { data, info } = await greyPixels(image);
  const paper = medianOf(data);
  const lines = findLines({ data, info }, paper * INK);
  for (let at = 0; at < data.length; at++) if (lines[at]) data[at] = paper;
  return sharp(data, { raw: info })
    .png({ compressionLevel: 1 })
    .withMetadata({ density: density ?? 200 })
    .toBuffer();
}

/** @returns for each pixel, whether it is part of a long straight stroke or its edge */
function findLines(page: GreyPixels, ink: number): Uint8Array {
  const { width, height } = page.info;
  const found = new Uint8Array(width * height);
  for (let y = 0; y < height; y++)
    scanLine(page, { start: y * width, step: 1, across: width, length: width }, ink, found);
  for (let x = 0; x < width; x++) scanLine(page, { start: x, step: width, across: 1, length: height }, ink, found);
  return found;
}

/** @param line its first pixel, the distance of its pixels, and the distance to the line beside it, in offsets */
function scanLine(
  { data }: GreyPixels,
  { start, step, across, length }: { start: number; step: number; across: number; length: number },
  ink: number,
  found: Uint8Array,
): void {
  let from = -1;
  let last = -1;
  for (let n = 0; n <= length; n++) {
    const dark = n < length && data[start + n * step]! < ink;
    if (dark) {
      if (from === -1) from = n;
      last = n;
    } else if (from !== -1 && (n === length || n - last > MAX_BREAK)) {
      if (last - from + 1 >= MIN_RUN) mark(from, last);
      from = -1;
    }
  }

  function mark(first: number, end: number): void {
    for (let n = first; n <= end; n++) {
      for (let edge = -EDGE; edge <= EDGE; edge++) {
        const at = start + n * step + edge * across;
        if (at >= 0 && at < data.length) found[at] = 1;
      }
    }
  }
}

/** The grey of the paper: most of a page is paper. */
function medianOf(data: Uint8Array): number {
  const counts = new Uint32Array(256);
  for (const level of data) counts[level]! += 1;
  let below = 0;
  return counts.findIndex((count) => {
    below += count;
    return below * 2 >= data.length;
  });
}
