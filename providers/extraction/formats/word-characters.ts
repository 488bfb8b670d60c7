import { createRequire } from 'node:module';
import iconv from 'iconv-lite';

/**
 * Loaded before `word-extractor`, which looks up characters in tables that lack some: each optional hyphen, and each euro sign of
 * a text in bytes, becomes the word "undefined".
 */
const filters = createRequire(import.meta.url)('word-extractor/lib/filters.js') as Record<
  'binaryToUnicode' | 'clean',
  (text: string) => string
>;
const { clean } = filters;
filters.binaryToUnicode = (text) => iconv.decode(Buffer.from(text, 'latin1'), 'windows-1252');
filters.clean = (text) => clean(text.replaceAll('\u001F', '').replaceAll('\u001E', '-'));
