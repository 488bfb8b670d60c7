import type { FeatureOutput, OcrPage } from '../../domain/ai-jobs/features.js';
import type { AiProvider, InputFile } from '../../domain/ai-jobs/provider.js';
import { ProviderError } from '../../domain/errors.js';
import type { Extractor } from '../extraction/index.js';
import { DEFAULT_LIMITS } from '../extraction/limits.js';
import type { PageReader, ScannedPage } from '../extraction/ocr/page-reader.js';
import type { ScannedFile } from '../extraction/ocr/picture.js';
import type { AiLimits } from './limits.js';
import { findTables } from './tables/find-tables.js';
import { readWords } from './tables/lines.js';

const TESSERACT = { name: 'tesseract', models: null } as const;

const ocrLimits = ({ ocrPages, imagePixels }: AiLimits) => ({
  ...DEFAULT_LIMITS,
  maxPages: ocrPages,
  maxPixels: imagePixels,
});

/** OCR of pictures and PDFs, page by page. Each finished page is saved as a checkpoint. */
export function createOcrProvider(reader: PageReader, limits: AiLimits): AiProvider<'ocr/ocr_async'> {
  return {
    ...TESSERACT,
    subfeature: 'ocr/ocr_async',
    async run({ file, language }, { checkpoints, original, org }, signal) {
      const scan = requireScan(file);
      const options = { limits: ocrLimits(limits), language, checkpoints, org };
      if (!original) return { output: toOutput(await reader.read(scan, options, signal)) };
      const scanned = await reader.readWithWords(scan, options, signal);
      return { output: toOutput(scanned.map(({ page }) => page)), original: scanned.map(tesseractResult) };
    },
  };
}

/** Tables of pictures and PDFs: the words that OCR finds, grouped by their boxes into rows and columns. */
export function createTableProvider(reader: PageReader, limits: AiLimits): AiProvider<'ocr/ocr_tables_async'> {
  return {
    ...TESSERACT,
    subfeature: 'ocr/ocr_tables_async',
    async run({ file, language }, { checkpoints, org }, signal) {
      const scan = requireScan(file);
      const options = { limits: ocrLimits(limits), language, checkpoints, org };
      const scanned = await reader.readTables(scan, options, signal);
      const tables = scanned.flatMap(({ page: { page }, width, height, tsv }) =>
        findTables(readWords(tsv), { page, width, height }),
      );
      return { output: { number_of_pages: scanned.length, tables }, original: scanned.map(tesseractResult) };
    },
  };
}

/** @throws ProviderError for a file that is not read by OCR */
function requireScan({ path, kind }: InputFile): ScannedFile {
  if (kind === 'pdf' || kind === 'image') return { path, kind };
  throw new ProviderError('The file is neither a PDF nor a picture (PNG, JPEG, WebP, TIFF, BMP or GIF).', false);
}

/** The engine's own result for one page. */
const tesseractResult = ({ page: { page }, width, height, tsv }: ScannedPage) => ({ page, width, height, tsv });

function toOutput(pages: OcrPage[]): FeatureOutput<'ocr/ocr_async'> {
  const texts = pages.map((page) => page.text).filter((text) => text !== '');
  return { text: texts.join('\n\n'), number_of_pages: pages.length, pages };
}

/** Text of a document with the parsers of ingestion; scanned pages are read by OCR. */
export function createTextExtractionProvider(extractor: Extractor): AiProvider<'document/text_extraction'> {
  return {
    subfeature: 'document/text_extraction',
    name: 'local',
    models: null,
    async run({ file: { path, kind }, language }, { checkpoints, org }, signal) {
      if (kind === 'audio' || kind === 'unknown')
        throw new ProviderError(
          'The file format is not supported. Accepted: PDF, Office documents, e-mails, EPUB, images, SVG, CSV, HTML, Markdown, JSON and text.',
          false,
        );
      const extraction = await extractor.extract({ path, kind, language, org }, signal, checkpoints);
      const sections = extraction.sections.map(({ text, headings, page, slide, sheet = null }) => ({
        text,
        headings,
        page: page ?? slide ?? null,
        sheet,
      }));
      const text = sections.map((section) => section.text).join('\n\n');
      return { output: { title: extraction.title, text, sections }, original: extraction };
    },
  };
}
