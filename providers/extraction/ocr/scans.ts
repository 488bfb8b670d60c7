import type { ExtractedSection, Extraction } from '../../../domain/extraction.js';
import { countLetters } from '../plain-text.js';

/**
 * Adds the pages that OCR has read, in order.
 * @param scans pages of a PDF with the little text they have (a stamp, a page number), which stays when OCR finds no more
 * @param pages what OCR read; undefined when nothing had to be read
 */
export function withPages(
  { title, sections, scans = [] }: Extraction & { scans?: readonly ExtractedSection[] },
  pages: readonly { page: number; text: string }[] | undefined,
): Extraction {
  if (!pages) return { title, sections };
  const known = new Map(scans.map((scan) => [scan.page, scan]));
  const read = pages.map(({ page, text }) => {
    const scan = known.get(page) ?? { text: '', headings: [], page };
    return countLetters(text) > countLetters(scan.text) ? { ...scan, text } : scan;
  });
  return { title, sections: [...sections, ...read].sort((a, b) => a.page! - b.page!) };
}
