import { searchableText } from '../../domain/content/chunking.js';
import { DEFAULT_LANGUAGE } from '../../domain/content/languages.js';
import { withPauses } from '../../domain/event-loop.js';
import { loadLanguageDetector } from '../../providers/languages/detect.js';
import type { ChunkRecord } from '../../storage/content/chunks.js';

/**
 * @returns a function that adds the language to the chunks of one item, in order. A chunk that does not show its language, such
 * as a table of numbers, has that of the chunk before it. It pauses between chunks, because a detection takes up to a millisecond
 */
export async function createLanguageMarks(): Promise<<T extends ChunkRecord>(chunks: readonly T[]) => Promise<T[]>> {
  const detect = await loadLanguageDetector();
  let language = DEFAULT_LANGUAGE;
  return async (chunks) => {
    const marked = [];
    for await (const chunk of withPauses(chunks)) {
      language = detect(searchableText(chunk.title, chunk), language);
      marked.push(language === DEFAULT_LANGUAGE ? chunk : { ...chunk, language });
    }
    return marked;
  };
}
