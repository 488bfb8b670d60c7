import { type Extraction, ExtractionError } from '../../domain/extraction.js';

/** Bounds for one item. Exceeding one is E2003; nothing is ever cut silently. */
export const DEFAULT_LIMITS = {
  /** Pages of a PDF. */
  maxPages: 2_000,
  /** Pages that are read by OCR: PDF pages without a text layer, frames of a TIFF. */
  maxScannedPages: 500,
  /** Pixels of one decoded picture, also of a picture inside a PDF. */
  maxPixels: 50_000_000,
  /** Entries of a zip container. */
  maxEntries: 10_000,
  /** Inflated bytes of all entries of a zip container. */
  maxInflatedBytes: 256 * 1024 * 1024,
  /** Inflated bytes per stored byte of a whole zip container. Checked beyond the first 16 MiB. */
  maxInflationRatio: 200,
  /** Characters of extracted text. */
  maxCharacters: 20_000_000,
};
export type ExtractionLimits = typeof DEFAULT_LIMITS;

/** @throws ExtractionError E2001 without pages, E2003 with too many */
export function checkPageCount(pages: number, { maxPages }: ExtractionLimits): void {
  if (pages === 0) throw new ExtractionError('E2001', 'It has no pages.');
  if (pages > maxPages) throw new ExtractionError('E2003', `It has ${pages} pages; at most ${maxPages} are allowed.`);
}

/** @throws ExtractionError E2003 */
export function checkPixels(width: number, height: number, { maxPixels }: ExtractionLimits): void {
  if (width * height > maxPixels) throw new ExtractionError('E2003', `The image has ${width} x ${height} pixels.`);
}

/**
 * Removes the sections without letters and digits.
 * @throws ExtractionError E2004 when no section remains, E2003 with too much text
 */
export function checkText({ title, sections }: Extraction, { maxCharacters }: ExtractionLimits): Extraction {
  const remaining = sections.filter(({ text }) => /[\p{L}\p{N}]/u.test(text));
  const characters = remaining.reduce((total, { text }) => total + text.length, 0);
  if (characters === 0) throw new ExtractionError('E2004');
  if (characters > maxCharacters)
    throw new ExtractionError('E2003', `It has ${characters} characters; at most ${maxCharacters} are allowed.`);
  return { title, sections: remaining };
}
