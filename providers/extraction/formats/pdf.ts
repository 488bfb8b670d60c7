import './no-drawing.js';
import { createRequire } from 'node:module';
import { dirname, join, sep } from 'node:path';
import { getDocument, VerbosityLevel } from 'pdfjs-dist/legacy/build/pdf.mjs';
import type { PDFDocumentProxy, TextContent, TextItem } from 'pdfjs-dist/types/src/display/api.js';
import { type ExtractedSection, type Extraction, ExtractionError } from '../../../domain/extraction.js';
import { asCode, readMarks } from '../code-marks.js';
import { checkPageCount, type ExtractionLimits } from '../limits.js';
import { cleanText, countLetters } from '../plain-text.js';
import { readWholePdf } from './pdf-file.js';

const PACKAGE = dirname(createRequire(import.meta.url).resolve('pdfjs-dist/package.json'));

/** Pages with fewer letters and digits are also read by OCR: a page number or a scanner's stamp is not a text layer. */
const MIN_LETTERS = 25;

export interface PdfText extends Extraction {
  /** Pages without a real text layer, with the little text they have. They are not among `sections`. */
  scans: ExtractedSection[];
}

/**
 * Extracts the text layer of a PDF, one section per page, with its bookmarks as headings.
 * @throws ExtractionError E2001 damaged or cut off, E2002 encrypted, E2003 too many pages
 */
export async function extractPdf(path: string, limits: ExtractionLimits): Promise<PdfText> {
  const file = await readWholePdf(path);
  const loading = getDocument({
    data: new Uint8Array(file.buffer, file.byteOffset, file.byteLength),
    verbosity: VerbosityLevel.ERRORS,
    isEvalSupported: false,
    useSystemFonts: false,
    disableFontFace: true,
    cMapUrl: join(PACKAGE, 'cmaps') + sep,
    cMapPacked: true,
    standardFontDataUrl: join(PACKAGE, 'standard_fonts') + sep,
  });
  try {
    return await readPages(loading, limits);
  } catch (error) {
    if (error instanceof ExtractionError) throw error;
    const { name } = error as Error;
    if (name === 'PasswordException') throw new ExtractionError('E2002');
    if (name === 'InvalidPDFException') throw new ExtractionError('E2001');
    throw new ExtractionError('E2001', 'A page cannot be read.');
  } finally {
    await loading.destroy();
  }
}

async function readPages(loading: ReturnType<typeof getDocument>, limits: ExtractionLimits): Promise<PdfText> {
  const document = await loading.promise;
  checkPageCount(document.numPages, limits);
  const headingsOf = await pageHeadings(document);
  const labels = await document.getPageLabels().catch(() => null);
  const sections: ExtractedSection[] = [];
  const scans: ExtractedSection[] = [];
  for (let number = 1; number <= document.numPages; number++) {
    const page = await document.getPage(number);
    const content = await page.getTextContent();
    const fields = filledFields(await page.getAnnotations());
    const layer = pageText(content);
    const { text, code } = readMarks([layer, ...fields].filter(Boolean).join('\n'));
    const label = cleanText(labels?.[number - 1] ?? '').trim();
    const named = label === '' || label === String(number) ? {} : { page_label: label };
    const section = { text, ...(code && { code }), headings: headingsOf(number), page: number, ...named };
    // Fields do not count: a scanned form that was filled in on a screen is still a picture.
    (countLetters(layer) < MIN_LETTERS ? scans : sections).push(section);
    page.cleanup();
  }
  const info = (await document.getMetadata()).info as { Title?: unknown };
  const title = typeof info.Title === 'string' ? cleanText(info.Title).trim() : '';
  return { title: /^(untitled|\(anonymous\))?$/i.test(title) ? null : title, sections, scans };
}

interface FormField {
  fieldType?: string;
  fieldValue?: unknown;
  alternativeText?: string;
  password?: boolean;
}

/** The values of text fields and lists of a form, with the names that they have for people. The text layer does not have them. */
function filledFields(fields: readonly FormField[]): string[] {
  const lines = fields
    .filter(({ fieldType = '', password }) => /^(?:Tx|Ch)$/.test(fieldType) && !password)
    .map(({ fieldValue, alternativeText = '' }) => {
      const value = cleanText([fieldValue].flat().filter(Boolean).join(', ')).trim();
      return value && [cleanText(alternativeText).trim(), value].filter(Boolean).join(': ');
    });
  return [...new Set(lines)];
}

interface Line {
  text: string;
  /** Almost two lines below the line before. */
  startsParagraph: boolean;
  letters: number;
  /** Letters in a font of equal widths. */
  monospaced: number;
}

/** The lines of a page with marks around code: lines in a font of equal widths, unless most of the page is in one. */
function pageText({ items, styles }: TextContent): string {
  const lines = linesOf(
    items.filter((item): item is TextItem => 'str' in item),
    (font) => styles[font]?.fontFamily === 'monospace',
  );
  const sum = (of: 'letters' | 'monospaced') => lines.reduce((total, line) => total + line[of], 0);
  const hasCode = sum('monospaced') <= sum('letters') / 2;
  let text = '';
  let code: string[] = [];
  const closeCode = () => {
    if (code.length > 0) text += `\n\n${asCode(code.join('\n'))}\n\n`;
    code = [];
  };
  for (const line of lines) {
    if (hasCode && line.letters > 0 && line.monospaced === line.letters) code.push(line.text.trim());
    else if (code.length > 0 && line.text.trim() === '') continue;
    else {
      closeCode();
      text += `${line.startsParagraph ? '\n' : ''}${line.text}\n`;
    }
  }
  closeCode();
  return text
    .replace(/[^\S\n]+/g, ' ')
    .replace(/(?<! ) *\n */g, '\n')
    .replace(/\n{3,}/g, '\n\n')
    .trim();
}

function linesOf(items: readonly TextItem[], isMonospaced: (font: string) => boolean): Line[] {
  const empty = (): Line => ({ text: '', startsParagraph: false, letters: 0, monospaced: 0 });
  const lines = [empty()];
  let above: { y: number; height: number } | null = null;
  let before: TextItem | null = null;
  for (const item of items) {
    const { str, transform, height, fontName, hasEOL } = item;
    const line = lines.at(-1)!;
    const y = (transform as number[])[5]!;
    const text = cleanText(str);
    if (before && !before.hasEOL && isApart(before, item)) line.text += ' ';
    before = item;
    if (text.trim() !== '') {
      if (line.text === '' && lines.length > 1 && above && above.y - y > 1.8 * Math.max(above.height, 1))
        line.startsParagraph = true;
      above = { y, height };
      const letters = text.replace(/\s+/g, '').length;
      line.letters += letters;
      if (isMonospaced(fontName)) line.monospaced += letters;
    }
    line.text += text;
    if (hasEOL) lines.push(empty());
  }
  return lines;
}

/** Share of the height of letters between two words. */
const WORD_GAP = 0.2;

/** Whether upright texts of a line do not touch. pdfjs has no space between them when the second is left of the first. */
function isApart(a: TextItem, b: TextItem): boolean {
  const [from, to] = [a.transform, b.transform] as [number[], number[]];
  if (from[1] !== 0 || to[1] !== 0) return false;
  const gap = Math.max(to[4]! - from[4]! - a.width, from[4]! - to[4]! - b.width);
  return gap > WORD_GAP * Math.max(a.height, b.height, 1);
}

type Bookmark = Awaited<ReturnType<PDFDocumentProxy['getOutline']>>[number];

/** Real outlines are smaller. The rest of a larger one is ignored. */
const MAX_BOOKMARKS = 5_000;
const MAX_DEPTH = 6;

/**
 * Reads a PDF's bookmarks as headings.
 * @returns the headings of a page number, outermost first: the path of titles to the page's first bookmark, or to the last
 * bookmark before the page
 */
async function pageHeadings(document: PDFDocumentProxy): Promise<(page: number) => string[]> {
  const starts: { page: number; headings: string[] }[] = [];
  let seen = 0;
  async function visit(bookmarks: readonly Bookmark[], above: string[]): Promise<void> {
    for (const bookmark of bookmarks) {
      if (++seen > MAX_BOOKMARKS) return;
      const title = cleanText(bookmark.title).replace(/\s+/g, ' ').trim();
      const headings = title === '' ? above : [...above, title];
      const page = await pageOf(document, bookmark.dest);
      if (page !== null) starts.push({ page, headings });
      if (headings.length < MAX_DEPTH) await visit(bookmark.items, headings);
    }
  }
  await visit((await document.getOutline().catch(() => null)) ?? [], []);
  starts.sort((a, b) => a.page - b.page);
  return (page) => {
    const here = starts.find((start) => start.page === page);
    return [...((here ?? starts.findLast((start) => start.page < page))?.headings ?? [])];
  };
}

/** @returns null when the bookmark leads to no page of the document */
async function pageOf(document: PDFDocumentProxy, destination: Bookmark['dest']): Promise<number | null> {
  try {
    const target = typeof destination === 'string' ? await document.getDestination(destination) : destination;
    if (!target) return null;
    const [page] = target;
    return typeof page === 'number' ? page + 1 : (await document.getPageIndex(page)) + 1;
  } catch {
    return null;
  }
}
