import type { Checkpoints } from '../../../domain/checkpoints.js';
import { type ExtractedSection, type Extraction, ExtractionError } from '../../../domain/extraction.js';
import { checkText, type ExtractionLimits } from '../limits.js';
import { countLetters } from '../plain-text.js';
import type { PageReader } from './page-reader.js';

export interface Reading {
  pages: PageReader;
  limits: ExtractionLimits;
  checkpoints: Checkpoints;
  signal: AbortSignal;
}

/**
 * Reads the text in a picture, one section per frame (see `openFrames`).
 * @throws ExtractionError E2003 too many pixels or frames, E2001 not decodable, E2004 no text
 */
export async function readPicture(path: string, { pages, limits, checkpoints, signal }: Reading): Promise<Extraction> {
  const frames = { ...limits, maxPages: limits.maxScannedPages };
  const read = await pages.read({ path, kind: 'image' }, { limits: frames, checkpoints }, signal);
  return checkText({ title: null, sections: read.map(({ page, text }) => ({ text, headings: [], page })) }, limits);
}

/**
 * Reads the pages of a PDF that have no text layer, and sorts them between the pages that have one.
 * @param scans these pages with the little text they have (a stamp, a page number); it stays when OCR finds no more
 * @throws ExtractionError E2003 too many scans, too many pixels or too much time on one, E2004 no text on any page
 */
export async function readScans(
  path: string,
  { title, sections }: Extraction,
  scans: readonly ExtractedSection[],
  { pages, limits, checkpoints, signal }: Reading,
): Promise<Extraction> {
  if (scans.length > limits.maxScannedPages)
    throw new ExtractionError(
      'E2003',
      `It has ${scans.length} pages without a text layer; at most ${limits.maxScannedPages} are allowed.`,
    );
  const numbers = scans.map(({ page }) => page!);
  const read = await pages.read({ path, kind: 'pdf' }, { limits, pages: numbers, checkpoints }, signal);
  const recognised = scans.map((scan, index) => {
    const { text } = read[index]!;
    return countLetters(text) > countLetters(scan.text) ? { ...scan, text } : scan;
  });
  const ordered = [...sections, ...recognised].sort((a, b) => a.page! - b.page!);
  return checkText({ title, sections: ordered }, limits);
}
