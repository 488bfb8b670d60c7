import { join } from 'node:path';
import { createExtractor, type ExtractorOptions } from '../../providers/extraction/index.js';
import { defaultCacheDir } from '../../runtime/cache-dir.js';

/** The languages that this user has fetched. */
export const LANGUAGES_DIR = join(defaultCacheDir(process.env), 'languages');

/** An extractor with the languages of this user's cache. */
export function startExtractor(options: Partial<ExtractorOptions> = {}) {
  return createExtractor({ languagesDir: LANGUAGES_DIR, ...options });
}
