import type { FeatureOutput, OcrPage } from '../../domain/ai-jobs/features.js';
import type { AiProvider } from '../../domain/ai-jobs/provider.js';
import { ProviderError } from '../../domain/errors.js';
import type { Extractor } from '../extraction/index.js';
import { DEFAULT_LIMITS } from '../extraction/limits.js';
import type { PageReader } from '../extraction/ocr/page-reader.js';
import { asProviderError } from './file-errors.js';
import type { AiLimits } from './limits.js';

/** OCR of pictures and PDFs, page by page. Each finished page is saved as a checkpoint. */
export function createOcrProvider(reader: PageReader, limits: AiLimits): AiProvider<'ocr/ocr_async'> {
  const ocrLimits = { ...DEFAULT_LIMITS, maxPages: limits.ocrPages, maxPixels: limits.imagePixels };
  return {
    subfeature: 'ocr/ocr_async',
    name: 'tesseract',
    models: null,
    async run({ file: { path, kind } }, { checkpoints }, signal) {
      if (kind !== 'pdf' && kind !== 'image')
        throw new ProviderError('The file is neither a PDF nor a picture (PNG, JPEG, WebP, TIFF, BMP or GIF).', false);
      try {
        const pages = await reader.read({ path, kind }, { limits: ocrLimits, checkpoints }, signal);
        return { output: toOutput(pages), original: pages };
      } catch (error) {
        throw asProviderError(error);
      }
    },
  };
}

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
    async run({ file: { path, kind } }, { checkpoints }, signal) {
      if (kind === 'audio' || kind === 'unknown')
        throw new ProviderError(
          'The file format is not supported. Accepted: PDF, Office documents, images, CSV, HTML, Markdown, JSON and text.',
          false,
        );
      try {
        const extraction = await extractor.extract({ path, kind }, signal, checkpoints);
        const sections = extraction.sections.map(({ text, headings, page, slide, sheet = null }) => ({
          text,
          headings,
          page: page ?? slide ?? null,
          sheet,
        }));
        const text = sections.map((section) => section.text).join('\n\n');
        return { output: { title: extraction.title, text, sections }, original: extraction };
      } catch (error) {
        throw asProviderError(error);
      }
    },
  };
}
