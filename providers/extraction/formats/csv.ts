import { readFile } from 'node:fs/promises';
import { type CsvError, parse } from 'csv-parse/sync';
import { type Extraction, ExtractionError } from '../../../domain/extraction.js';
import { decodeText } from '../plain-text.js';
import { tableSections } from '../tables/sections.js';

const DELIMITERS = [',', '\t', ';', '|'];
const SAMPLE_ROWS = 50;
/** The parser needs 10 ms for a KiB of empty fields, and the API calls it on its event loop, once for each delimiter. */
const SAMPLE_CHARS = 8 * 1024;
/** Of the row in which a sample may end. */
const CUT_ROW_BYTES = 2 * 1024;

/** A table of delimited text. Empty lines count as rows, as in a spreadsheet. @throws ExtractionError E2001 */
export async function extractCsv(path: string): Promise<Extraction> {
  const text = decodeText(await readFile(path));
  const delimiter = findDelimiter(text, true, true) ?? ',';
  return { title: null, sections: tableSections({ rows: rowsOf(text, delimiter) }) };
}

function rowsOf(text: string, delimiter: string): string[][] {
  try {
    return parse(text, { delimiter, relaxColumnCount: true, relaxQuotes: true }) as string[][];
  } catch {
    // Usually a quote that is never closed. The parser's own message quotes the row.
    throw new ExtractionError('E2001', 'The table has rows that cannot be read.');
  }
}

/**
 * Finds the delimiter with which most rows at the beginning have the same number of fields.
 * @param whole false when the text may end in the middle of a row
 * @param named true when the file name says that it is a table: then two columns and one row are enough
 * @returns null when the text is not a table
 */
export function findDelimiter(text: string, whole: boolean, named: boolean): string | null {
  const sample = text.slice(0, SAMPLE_CHARS);
  let best: { delimiter: string; columns: number } | null = null;
  for (const delimiter of DELIMITERS.filter((each) => sample.includes(each))) {
    const rows = sampleRows(sample, delimiter, whole && sample.length === text.length);
    const columns = mostFrequent(rows.map((row) => row.length));
    const agreeing = rows.filter((row) => row.length === columns).length;
    if (columns < 2 || agreeing < rows.length * (named ? 0.5 : 0.9)) continue;
    // Prose and lists contain commas and bars too; a table has several rows of short fields.
    const longest = Math.max(...rows.flat().map((field) => field.length));
    const spaced = rows.filter((row) => row.slice(1).every((field) => field.startsWith(' '))).length;
    if (!named && (rows.length < 3 || longest > 300 || (delimiter === ',' && spaced > rows.length / 2))) continue;
    if (!best || columns > best.columns) best = { delimiter, columns };
  }
  return best?.delimiter ?? null;
}

function sampleRows(text: string, delimiter: string, whole: boolean): string[][] {
  const rows: string[][] = [];
  /** Of the last row, in bytes. */
  let end = 0;
  try {
    parse(text, {
      delimiter,
      to: SAMPLE_ROWS,
      relaxColumnCount: true,
      relaxQuotes: true,
      skipEmptyLines: true,
      onRecord(row: string[], { bytes }) {
        rows.push(row);
        end = bytes;
      },
    });
    return whole || rows.length < 2 || rows.length === SAMPLE_ROWS ? rows : rows.slice(0, -1);
  } catch (error) {
    // A sample that is cut often ends within quotes, and the rows before are complete. A quote that is open for long is never closed.
    const isCut = !whole && (error as CsvError).code === 'CSV_QUOTE_NOT_CLOSED';
    return isCut && Buffer.byteLength(text) - end <= CUT_ROW_BYTES ? rows : [];
  }
}

function mostFrequent(numbers: number[]): number {
  const counts = new Map<number, number>();
  for (const number of numbers) counts.set(number, (counts.get(number) ?? 0) + 1);
  return [...counts].sort((a, b) => b[1] - a[1])[0]?.[0] ?? 0;
}
