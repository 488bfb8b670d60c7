import { extname } from 'node:path';
import { parse } from 'csv-parse/sync';
import type { FileKind } from '../../domain/extraction.js';

type TextKind = Extract<FileKind, 'csv' | 'html' | 'markdown' | 'json' | 'text'>;
const BY_EXTENSION: Record<string, TextKind> = {
  '.csv': 'csv',
  '.tsv': 'csv',
  '.tab': 'csv',
  '.md': 'markdown',
  '.markdown': 'markdown',
  '.mdx': 'markdown',
  '.txt': 'text',
  '.text': 'text',
  '.log': 'text',
  '.htm': 'html',
  '.html': 'html',
  '.xhtml': 'html',
  '.json': 'json',
  '.jsonl': 'json',
  '.ndjson': 'json',
  '.geojson': 'json',
};
const DELIMITERS = [',', '\t', ';', '|'];
const SAMPLE_ROWS = 50;
/** Length of the head that detection gets; a shorter one is the whole file. */
const HEAD_BYTES = 64 * 1024;

/**
 * Tells which kind of text this is. Markup and JSON show themselves; between a table, Markdown and prose the content
 * has the first word and the name the last.
 * @param text the decoded beginning of the file, without leading white space
 * @param byteLength of the bytes it was decoded from
 */
export function detectTextKind(text: string, byteLength: number, filename = ''): TextKind {
  const named = BY_EXTENSION[extname(filename).toLowerCase()];
  const whole = byteLength < HEAD_BYTES;
  if (looksHtml(text) || (named === 'html' && /<[a-z][^>]{0,500}>/i.test(text))) return 'html';
  if (looksJson(text, whole, named)) return 'json';
  const delimiter = findDelimiter(text, whole, named === 'csv');
  if (named === 'csv' && delimiter) return 'csv';
  if (named === 'markdown' || named === 'text') return named;
  if (delimiter) return 'csv';
  return markdownSigns(text) >= 2 ? 'markdown' : 'text';
}

/**
 * Finds the delimiter under which the rows have the same number of fields.
 * @param whole false when the sample may end in the middle of a row
 * @param stated the name already says that it is a table, so two columns and one row are enough
 */
export function findDelimiter(text: string, whole: boolean, stated: boolean): string | null {
  let best: { delimiter: string; columns: number } | null = null;
  for (const delimiter of DELIMITERS) {
    const rows = sampleRows(text, delimiter, whole);
    const columns = mode(rows.map((row) => row.length));
    const agreeing = rows.filter((row) => row.length === columns).length;
    if (columns < 2 || agreeing < rows.length * (stated ? 0.5 : 0.9)) continue;
    // Prose and lists have a comma or a bar here and there; a table has several rows of short fields.
    const longest = Math.max(...rows.flat().map((field) => field.length));
    const spaced = rows.filter((row) => row.slice(1).every((field) => field.startsWith(' '))).length;
    if (!stated && (rows.length < 3 || longest > 300 || (delimiter === ',' && spaced > rows.length / 2))) continue;
    if (!best || columns > best.columns) best = { delimiter, columns };
  }
  return best?.delimiter ?? null;
}

function sampleRows(text: string, delimiter: string, whole: boolean): string[][] {
  try {
    const rows = parse(text, {
      delimiter,
      to: SAMPLE_ROWS,
      relaxColumnCount: true,
      relaxQuotes: true,
      skipEmptyLines: true,
    }) as string[][];
    return whole || rows.length < 2 || rows.length === SAMPLE_ROWS ? rows : rows.slice(0, -1);
  } catch {
    return [];
  }
}

function mode(numbers: number[]): number {
  const counts = new Map<number, number>();
  for (const number of numbers) counts.set(number, (counts.get(number) ?? 0) + 1);
  return [...counts].sort((a, b) => b[1] - a[1])[0]?.[0] ?? 0;
}

function looksHtml(text: string): boolean {
  const start = text.replace(/^(<\?xml[^>]*>|<!--[\s\S]*?-->|\s)+/, '').slice(0, 2_000);
  if (/^<(!doctype\s+html|html|head|body)\b/i.test(start)) return true;
  return (
    /^<(div|p|h[1-6]|table|section|article|main|header|ul|ol)\b[^>]*>/i.test(start) &&
    /<\/[a-z][a-z0-9]{0,20}>/i.test(text)
  );
}

function looksJson(text: string, whole: boolean, named: TextKind | undefined): boolean {
  if (!/^[[{]/.test(text)) return named === 'json' && whole && parses(text);
  if (whole && parses(text)) return true;
  const lines = text.split('\n').filter((line) => line.trim() !== '');
  // JSON lines: one object a line; the last may be cut.
  if (lines.length > 1 && lines.slice(0, whole ? undefined : -1).every((line) => /^\s*\{/.test(line) && parses(line)))
    return true;
  // Only the beginning is at hand: a name that says otherwise is believed.
  return (
    !whole && (named === undefined || named === 'json') && /^(\{\s*"(?:[^"\\]|\\.)*"\s*:|\[\s*[[{"\d-])/.test(text)
  );
}

function parses(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** How many different habits of Markdown the text shows. Repetitions are bounded: this runs on the event loop. */
function markdownSigns(text: string): number {
  const signs = [
    /^#{1,6} \S/m,
    /^(=+|-+)\s*$/m,
    /^\s*[-*+] \S/m,
    /^```/m,
    /\[[^\]\n]{1,200}\]\([^)\n]{1,500}\)/,
    /(\*\*|__)\S[^\n]{0,200}?\1/,
    /^> \S/m,
    /^\|.+\|\s*$/m,
  ];
  return signs.filter((sign) => sign.test(text)).length;
}
