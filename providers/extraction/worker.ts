import {
  type ExtractedSection,
  type Extraction,
  ExtractionError,
  type ExtractionFailure,
  type FileKind,
  failureOf,
} from '../../domain/extraction.js';
import type { PdfText } from './formats/pdf.js';
import { checkText, type ExtractionLimits } from './limits.js';

export interface ExtractionTask {
  path: string;
  /** Pictures have no parser: their pages are read by OCR. */
  kind: Exclude<FileKind, 'image'>;
  limits: ExtractionLimits;
}
export interface ExtractionResult {
  extraction: Extraction;
  /** Pages of a PDF without a text layer. */
  scans: ExtractedSection[];
}
export type ExtractionOutcome = ExtractionResult | ExtractionFailure;

/** Entry point of an extraction thread. A parser is loaded for the first file of its kind, so a thread holds only what it uses. */
export default async function run(task: ExtractionTask): Promise<ExtractionOutcome> {
  try {
    const { scans = [], ...extraction } = await parse(task);
    return { extraction: scans.length > 0 ? extraction : checkText(extraction, task.limits), scans };
  } catch (error) {
    return failureOf(error instanceof ExtractionError ? error : parserFailure(error));
  }
}

async function parse({ path, kind, limits }: ExtractionTask): Promise<Extraction & Partial<PdfText>> {
  switch (kind) {
    case 'pdf':
      return (await import('./formats/pdf.js')).extractPdf(path, limits);
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
    case 'csv':
      return (await import('./formats/csv.js')).extractCsv(path);
    case 'html':
      return (await import('./formats/html.js')).extractHtml(path);
    case 'markdown':
      return (await import('./formats/markdown.js')).extractMarkdown(path);
    case 'json':
      return (await import('./formats/json.js')).extractJson(path);
    case 'text':
      return (await import('./plain-text.js')).extractText(path);
  }
}

/** The error of a parser as the file's fault. A missing file or package is our fault and retryable, so it is thrown. */
function parserFailure(error: unknown): ExtractionError {
  const code = (error as { code?: unknown } | null)?.code;
  if (typeof code === 'string' && /^(ENOENT|EACCES|EIO|EMFILE|ENFILE|ERR_MODULE_NOT_FOUND)$/.test(code)) throw error;
  // Nesting that exhausts the stack, or a string longer than the engine can hold.
  if (error instanceof RangeError) return new ExtractionError('E2003');
  return new ExtractionError('E2001');
}
