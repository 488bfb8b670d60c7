import { readFile } from 'node:fs/promises';
import type { Extraction } from '../../domain/extraction.js';
import { decodeText } from './text-encoding.js';

/** Plain text: one section, its paragraphs left as they are. */
export async function extractText(path: string): Promise<Extraction> {
  return { title: null, sections: [{ text: decodeText(await readFile(path)).trim(), headings: [] }] };
}
