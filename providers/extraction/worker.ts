import { type Extraction, ExtractionError, type FileKind, type ItemErrorCode } from '../../domain/extraction.js';
import type { ExtractionLimits } from './limits.js';

export interface ExtractionTask {
  path: string;
  kind: FileKind;
  limits: ExtractionLimits;
}
/** Errors cross the thread boundary as values: a class does not survive it. */
export type ExtractionOutcome = { extraction: Extraction } | { code: ItemErrorCode; detail?: string };

/** Entry point of an extraction thread. Each parser is loaded when its first file comes, so a thread holds only what it uses. */
export default async function run(task: ExtractionTask): Promise<ExtractionOutcome> {
  try {
    const extraction = await parse(task);
    return { extraction: withText(extraction, task.limits) };
  } catch (error) {
    const known = error instanceof ExtractionError ? error : unforeseen(error);
    return { code: known.code, detail: known.detail };
  }
}

async function parse({ path, kind, limits }: ExtractionTask): Promise<Extraction> {
  switch (kind) {
    case 'pdf':
      return (await import('./pdf.js')).extractPdf(path, limits);
    case 'xlsx':
      return (await import('./xlsx.js')).extractWorkbook(path, limits);
    case 'docx':
    case 'pptx':
    case 'odt':
    case 'ods':
    case 'odp':
    case 'rtf':
      return (await import('./office.js')).extractOffice(path, kind, limits);
    case 'image':
      return (await import('./image.js')).extractImage(path, limits);
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

function withText(extraction: Extraction, limits: ExtractionLimits): Extraction {
  const sections = extraction.sections.filter((section) => /[\p{L}\p{N}]/u.test(section.text));
  const characters = sections.reduce((total, section) => total + section.text.length, 0);
  if (characters === 0) throw new ExtractionError('E2004');
  if (characters > limits.maxCharacters)
    throw new ExtractionError('E2003', `It has ${characters} characters, ${limits.maxCharacters} are allowed.`);
  return { title: extraction.title, sections };
}

/** A file that vanished or a package that does not load is our fault and worth a retry; a parser's stumble is the file's. */
function unforeseen(error: unknown): ExtractionError {
  const code = (error as { code?: unknown } | null)?.code;
  if (typeof code === 'string' && /^(ENOENT|EACCES|EIO|EMFILE|ENFILE|ERR_MODULE_NOT_FOUND)$/.test(code)) throw error;
  // Nesting made to exhaust the stack, or a string longer than the engine can hold.
  if (error instanceof RangeError) return new ExtractionError('E2003');
  return new ExtractionError('E2001');
}
