import {
  type ExtractedSection,
  type Extraction,
  ExtractionError,
  type FileKind,
  type ItemErrorCode,
} from '../../domain/extraction.js';
import type { ExtractionLimits } from './limits.js';
import type { PdfText } from './pdf.js';
import { withText } from './with-text.js';

export interface ExtractionTask {
  path: string;
  kind: ParsedKind;
  limits: ExtractionLimits;
}
/** Errors cross the thread boundary as values: a class does not survive it. */
export type ExtractionOutcome =
  | { extraction: Extraction; scans: ExtractedSection[] }
  | { code: ItemErrorCode; detail?: string };

/** Kinds that a parser reads; pictures have nothing to parse. */
export type ParsedKind = Exclude<FileKind, 'image'>;

/** Entry point of an extraction thread. Each parser is loaded when its first file comes, so a thread holds only what it uses. */
export default async function run(task: ExtractionTask): Promise<ExtractionOutcome> {
  try {
    const { scans = [], ...extraction } = await parse(task);
    return { extraction: scans.length > 0 ? extraction : withText(extraction, task.limits), scans };
  } catch (error) {
    const known = error instanceof ExtractionError ? error : unforeseen(error);
    return { code: known.code, detail: known.detail };
  }
}

async function parse({ path, kind, limits }: ExtractionTask): Promise<Extraction & Partial<PdfText>> {
  switch (kind) {
    case 'pdf':
      return (await import('./pdf.js')).extractPdf(path, limits);
    case 'xlsx':
      return (await import('./xlsx.js')).extractWorkbook(path, limits);
    case 'ods':
      return (await import('./ods.js')).extractOpenWorkbook(path, limits);
    case 'docx':
    case 'pptx':
    case 'odt':
    case 'odp':
    case 'rtf':
      return (await import('./office.js')).extractOffice(path, kind, limits);
    case 'csv':
      return (await import('./csv.js')).extractCsv(path);
    case 'html':
      return (await import('./html.js')).extractHtml(path);
    case 'markdown':
      return (await import('./markdown.js')).extractMarkdown(path);
    case 'json':
      return (await import('./json.js')).extractJson(path);
    case 'text':
      return (await import('./text.js')).extractText(path);
  }
}

/** A file that vanished or a package that does not load is our fault and worth a retry; a parser's stumble is the file's. */
function unforeseen(error: unknown): ExtractionError {
  const code = (error as { code?: unknown } | null)?.code;
  if (typeof code === 'string' && /^(ENOENT|EACCES|EIO|EMFILE|ENFILE|ERR_MODULE_NOT_FOUND)$/.test(code)) throw error;
  // Nesting made to exhaust the stack, or a string longer than the engine can hold.
  if (error instanceof RangeError) return new ExtractionError('E2003');
  return new ExtractionError('E2001');
}
