import { readFile } from 'node:fs/promises';
import { parse } from 'csv-parse/sync';
import { type Extraction, ExtractionError } from '../../domain/extraction.js';
import { findDelimiter } from './detect-text-kind.js';
import { tableSections } from './rows.js';
import { decodeText } from './text-encoding.js';

const SAMPLE_CHARS = 64 * 1024;

/** A table as text: each row a line of `header: value`. The delimiter is found from the rows. Empty lines count as rows, as in a spreadsheet. */
export async function extractCsv(path: string): Promise<Extraction> {
  const text = decodeText(await readFile(path));
  const delimiter = findDelimiter(text.slice(0, SAMPLE_CHARS), text.length <= SAMPLE_CHARS, true) ?? ',';
  try {
    const rows = parse(text, {
      delimiter,
      relaxColumnCount: true,
      relaxQuotes: true,
    }) as string[][];
    return { title: null, sections: tableSections({ rows }) };
  } catch {
    // A quote that never closes, mostly. The parser's own message quotes the row.
    throw new ExtractionError('E2001', 'The table has rows that cannot be read.');
  }
}
