import type { FeatureOutput, OcrPage } from '../../domain/ai-jobs/features.js';
import type { AiProvider } from '../../domain/ai-jobs/provider.js';
import { ProviderError } from '../../domain/errors.js';
import { DEFAULT_LIMITS } from '../extraction/limits.js';
import type { PageReader } from '../extraction/page-reader.js';
import { asProviderError } from './file-failure.js';
import type { AiLimits } from './limits.js';

const HEARTBEAT_MS = 3_000;

/** Reads pictures and PDFs page by page; each finished page is saved as a checkpoint. */
export function createTesseractProvider(reader: PageReader, limits: AiLimits): AiProvider<'ocr/ocr_async'> {
  const settled = { ...DEFAULT_LIMITS, maxPages: limits.ocrPages, maxPixels: limits.imagePixels };
  return {
    subfeature: 'ocr/ocr_async',
    name: 'tesseract',
    models: null,
    async run({ file: { path, kind } }, { checkpoints }, signal, heartbeat) {
      if (kind !== 'pdf' && kind !== 'image')
        throw new ProviderError('The file is neither a PDF nor a picture (PNG, JPEG, WebP, TIFF, BMP or GIF).', false);
      // A page may take longer than a heartbeat may be away; the reader's limit sees to it that none takes for ever.
      const beating = setInterval(heartbeat, HEARTBEAT_MS);
      try {
        const pages = await reader.read({ path, kind }, { limits: settled, checkpoints, onPage: heartbeat }, signal);
        return { output: toOutput(pages), original: pages };
      } catch (error) {
        throw asProviderError(error);
      } finally {
        clearInterval(beating);
      }
    },
  };
}

function toOutput(pages: OcrPage[]): FeatureOutput<'ocr/ocr_async'> {
  const text = pages.map((page) => page.text).filter((words) => words !== '');
  return { text: text.join('\n\n'), number_of_pages: pages.length, pages };
}
