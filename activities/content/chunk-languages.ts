import { searchableText } from '../../domain/content/chunking.js';
import { DEFAULT_LANGUAGE } from '../../domain/content/languages.js';
import { loadLanguageDetector } from '../../providers/languages/detect.js';
import type { ChunkRecord } from '../../storage/content/chunks.js';

/**
 * @returns a function that adds the language to the chunks of one item, in order. A chunk that does not show its language, such
 * as a table of numbers, has that of the chunk before it
 */
export async function createLanguageMarks(): Promise<<T extends ChunkRecord>(chunks: readonly T[]) => T[]> {
  const detect = await loadLanguageDetector();
  let language = DEFAULT_LANGUAGE;
  return (chunks) =>
    chunks.map((chunk) => {
      language = detect(searchableText(chunk.title, chunk), language);
      return language === DEFAULT_LANGUAGE ? chunk : { ...chunk, language };
    });
}
