import { createExtractor, type ExtractorOptions } from '../../providers/extraction/index.js';

/** The languages of test runs: bin/test.mjs. */
export const LANGUAGES_DIR = process.env.POSTBACK_OCR_LANGUAGES_DIR!;

/** An extractor with the languages of test runs. */
export function startExtractor(options: Partial<ExtractorOptions> = {}) {
  return createExtractor({ languagesDir: LANGUAGES_DIR, ...options });
}
