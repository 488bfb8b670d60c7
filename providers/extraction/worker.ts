import type { OcrPage } from '../../domain/ai-jobs/features.js';
import { type Chunk, chunkSections } from '../../domain/content/chunking.js';
import { type ExtractedSection, type Extraction, ExtractionError, type FileKind } from '../../domain/extraction.js';
import { withoutBareHeadings } from './bare-headings.js';
import type { ParseAttachment } from './formats/mail.js';
import type { PdfText } from './formats/pdf.js';
import { checkText, type ExtractionLimits } from './limits.js';
import { countLetters } from './plain-text.js';

/** A page as OCR read it. */
export type PageText = Pick<OcrPage, 'page' | 'text'>;

export interface ExtractionTask {
  path: string;
  /** `item-text`: UTF-8 that is used as it is. */
  kind: FileKind | 'item-text';
  limits: ExtractionLimits;
  /** What is returned: the sections, or the chunks that they are divided into. */
  as: 'sections' | 'chunks';
  /** Pages that OCR has read: all of a picture, and of a PDF those without a text layer. */
  pages?: PageText[];
}

/** Output is sent in parts, so that neither process holds all of it. */
export type ExtractionPart = { title: string | null } & ({ sections: ExtractedSection[] } | { chunks: Chunk[] });

/** `scans`: pages of a PDF that must be read by OCR first. Nothing else has been returned then. */
export type ExtractionOutcome = { scans: number[] };

/** Characters of one part. */
const PART = 128 * 1024;
/** E-mails attached to e-mails. */
const MAX_NESTED_MAILS = 5;

/**
 * The work of an extraction process. A parser is loaded for the first file of its kind, so a process holds only what it uses.
 * @throws ExtractionError
 */
export default async function run(
  task: ExtractionTask,
  emit: (part: ExtractionPart) => Promise<void>,
): Promise<ExtractionOutcome> {
  try {
    const parsed = await parse(task);
    if (parsed.scans && parsed.scans.length > 0 && !task.pages) return { scans: parsed.scans.map(({ page }) => page!) };
    const { title, sections } =
      task.kind === 'item-text' ? parsed : checkText(readable(withPages(parsed, task.pages)), task.limits);
    if (task.as === 'sections') for (const part of inParts(sections)) await emit({ title, sections: part });
    else for (const part of inParts(chunkSections({ sections }))) await emit({ title, chunks: part });
    return { scans: [] };
  } catch (error) {
    throw error instanceof ExtractionError ? error : parserFailure(error);
  }
}

const readable = ({ title, sections }: Extraction): Extraction => ({ title, sections: withoutBareHeadings(sections) });

/** @param depth number of e-mails around the file */
async function parse(
  { path, kind, limits }: Pick<ExtractionTask, 'path' | 'kind' | 'limits'>,
  depth = 0,
): Promise<Extraction & Partial<PdfText>> {
  if (depth > MAX_NESTED_MAILS) throw new ExtractionError('E2003', 'It is nested too deeply.');
  const parseAttachment: ParseAttachment = (file) =>
    parse(file, depth + 1).catch((error: unknown) => {
      throw error instanceof ExtractionError ? error : parserFailure(error);
    });
  switch (kind) {
    case 'pdf':
      return (await import('./formats/pdf.js')).extractPdf(path, limits);
    case 'xls':
      return (await import('./formats/xls.js')).extractXls(path);
    case 'xlsx':
      return (await import('./formats/xlsx.js')).extractXlsx(path, limits);
    case 'ods':
      return (await import('./formats/ods.js')).extractOds(path, limits);
    case 'docx':
    case 'pptx':
    case 'odt':
    case 'odp':
    case 'rtf':
      return (await import('./formats/office.js')).extractOffice(path, kind, limits);
    case 'doc':
      return (await import('./formats/doc.js')).extractDoc(path);
    case 'epub':
      return (await import('./formats/epub.js')).extractEpub(path, limits);
    case 'eml':
    case 'msg':
      return (await import('./formats/mail.js')).extractMail(path, kind, limits, parseAttachment);
    case 'csv':
      return (await import('./formats/csv.js')).extractCsv(path);
    case 'html':
      return (await import('./formats/html.js')).extractHtml(path);
    case 'svg':
      return (await import('./formats/svg.js')).extractSvg(path);
    case 'markdown':
      return (await import('./formats/markdown.js')).extractMarkdown(path);
    case 'json':
      return (await import('./formats/json.js')).extractJson(path);
    case 'text':
      return (await import('./plain-text.js')).extractText(path);
    case 'item-text':
      return (await import('./plain-text.js')).readItemText(path);
    case 'image':
      return { title: null, sections: [] };
  }
}

function* inParts<Piece extends { text: string }>(pieces: Iterable<Piece>): Generator<Piece[]> {
  let part: Piece[] = [];
  let characters = 0;
  for (const piece of pieces) {
    part.push(piece);
    characters += piece.text.length;
    if (characters < PART && part.length < 1_000) continue;
    yield part;
    part = [];
    characters = 0;
  }
  if (part.length > 0) yield part;
}

/** The error of a parser as the file's fault. A missing file or package is our fault and retryable, so it is thrown. */
function parserFailure(error: unknown): ExtractionError {
  const code = (error as { code?: unknown } | null)?.code;
  if (typeof code === 'string' && /^(ENOENT|EACCES|EIO|EMFILE|ENFILE|ERR_MODULE_NOT_FOUND)$/.test(code)) throw error;
  // Nesting that exhausts the stack, or a string longer than the engine can hold.
  if (error instanceof RangeError) return new ExtractionError('E2003');
  return new ExtractionError('E2001');
}

/**
 * Adds the pages that OCR has read, in order.
 * @param scans pages of a PDF with the little text they have (a stamp, a page number), which stays when OCR finds no more
 * @param pages what OCR read; undefined when nothing had to be read
 */
function withPages(
  { title, sections, scans = [] }: Extraction & { scans?: readonly ExtractedSection[] },
  pages: readonly PageText[] | undefined,
): Extraction {
  if (!pages) return { title, sections };
  const known = new Map(scans.map((scan) => [scan.page, scan]));
  const read = pages.map(({ page, text }) => {
    const scan: ExtractedSection = known.get(page) ?? { text: '', headings: [], page };
    const { text: layer, code: _, ...place } = scan;
    return countLetters(text) > countLetters(layer) ? { ...place, text } : scan;
  });
  return { title, sections: [...sections, ...read].sort((a, b) => a.page! - b.page!) };
}
