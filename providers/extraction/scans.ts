import type { Checkpoints } from '../../domain/checkpoints.js';
import { type ExtractedSection, type Extraction, ExtractionError } from '../../domain/extraction.js';
import { countLetters } from './letters.js';
import type { ExtractionLimits } from './limits.js';
import type { PageReader } from './page-reader.js';
import { withText } from './with-text.js';

export interface Reading {
  pages: PageReader;
  limits: ExtractionLimits;
  checkpoints: Checkpoints;
  signal: AbortSignal;
}

/**
 * The words in a picture, one section a frame (pages of a TIFF; of an animation the first frame only).
 * @throws ExtractionError E2003 too many pixels or frames, E2001 not decodable, E2004 no words
 */
export async function readPicture(path: string, { pages, limits, checkpoints, signal }: Reading): Promise<Extraction> {
  const frames = { ...limits, maxPages: limits.maxScannedPages };
  const read = await pages.read({ path, kind: 'image' }, { limits: frames, checkpoints }, signal);
  return withText({ title: null, sections: read.map(({ page, text }) => ({ text, headings: [], page })) }, limits);
}

/**
 * Reads the pages of a PDF that have no text layer, and puts them between those that have one.
 * @param scans those pages with what there is of a text layer (a stamp, a page number); it stays where OCR finds no more
 * @throws ExtractionError E2003 too many of them, too many pixels or too much time on one, E2004 no text on any page
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
      `It has ${scans.length} pages without a text layer, ${limits.maxScannedPages} are allowed.`,
    );
  const wanted = scans.map(({ page }) => page!);
  const read = await pages.read({ path, kind: 'pdf' }, { limits, pages: wanted, checkpoints }, signal);
  const seen = scans.map((scan, at) => {
    const { text } = read[at]!;
    return countLetters(text) > countLetters(scan.text) ? { ...scan, text } : scan;
  });
  const ordered = [...sections, ...seen].sort((a, b) => a.page! - b.page!);
  return withText({ title, sections: ordered }, limits);
}
