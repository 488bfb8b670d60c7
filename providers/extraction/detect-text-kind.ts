import { extname } from 'node:path';
import { type FileKind, HEAD_BYTES } from '../../domain/extraction.js';
import { findDelimiter } from './formats/csv.js';

type TextKind = Extract<FileKind, 'csv' | 'html' | 'svg' | 'markdown' | 'json' | 'eml' | 'text'>;
const EXTENSIONS = {
  csv: ['.csv', '.tsv', '.tab'],
  markdown: ['.md', '.markdown', '.mdx'],
  text: ['.txt', '.text', '.log'],
  html: ['.htm', '.html', '.xhtml'],
  json: ['.json', '.jsonl', '.ndjson', '.geojson'],
};
const NAMED = Object.keys(EXTENSIONS) as (keyof typeof EXTENSIONS)[];

/**
 * Detects the kind of a text file. Markup, JSON and e-mails are recognised by content; between a table, Markdown and prose the
 * content decides first, then the file name.
 * @param text the decoded beginning of the file, without leading white space
 * @param byteLength number of bytes that `text` was decoded from
 */
export function detectTextKind(text: string, byteLength: number, filename = ''): TextKind {
  const extension = extname(filename).toLowerCase();
  const named = NAMED.find((kind) => EXTENSIONS[kind].includes(extension));
  const whole = byteLength < HEAD_BYTES;
  if (startsAs(text, /^<(!doctype\s+)?(svg:)?svg\b/i)) return 'svg';
  if (looksHtml(text) || (named === 'html' && /<[a-z][^<>]{0,500}>/i.test(text))) return 'html';
  if (looksJson(text, whole, named)) return 'json';
  if (looksLikeMail(text, extension === '.eml')) return 'eml';
  const delimiter = findDelimiter(text, whole, named === 'csv');
  if (named === 'csv' && delimiter) return 'csv';
  if (named === 'markdown' || named === 'text') return named;
  if (delimiter) return 'csv';
  return markdownSigns(text) >= 2 ? 'markdown' : 'text';
}

function looksHtml(text: string): boolean {
  if (startsAs(text, /^<(!doctype\s+html|html|head|body)\b/i)) return true;
  return (
    startsAs(text, /^<(div|p|h[1-6]|table|section|article|main|header|ul|ol)\b[^>]*>/i) &&
    /<\/[a-z][a-z0-9]{0,20}>/i.test(text)
  );
}

/** Whether the first element, or the document type, matches. */
function startsAs(text: string, pattern: RegExp): boolean {
  return pattern.test(text.replace(/^(<\?xml[^>]*>|<!--[\s\S]*?-->|\s)+/, '').slice(0, 2_000));
}

function looksJson(text: string, whole: boolean, named: TextKind | undefined): boolean {
  if (!/^[[{]/.test(text)) return named === 'json' && whole && parses(text);
  if (whole && parses(text)) return true;
  const lines = text.split('\n').filter((line) => line.trim() !== '');
  // JSON lines: one object per line; the last line may be cut.
  if (lines.length > 1 && lines.slice(0, whole ? undefined : -1).every((line) => /^\s*\{/.test(line) && parses(line)))
    return true;
  // Only the beginning is known, so a file name of another kind decides.
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

/** Number of different Markdown constructs in the text. Repetitions are bounded, because this runs on the event loop. */
function markdownSigns(text: string): number {
  const signs = [
    /^#{1,6} \S/m,
    /^(=+|-+)[ \t]*$/m,
    /^[ \t]*[-*+] \S/m,
    /^```/m,
    /\[[^[\]\n]{1,200}\]\([^)\n]{1,500}\)/,
    /(\*\*|__)\S[^\n]{0,200}?\1/,
    /^> \S/m,
    /^\|.+\|[ \t]*$/m,
  ];
  return signs.filter((sign) => sign.test(text)).length;
}

/** Headers that mail programs write, and hardly anybody else does. */
const TRANSPORT = ['message-id', 'mime-version', 'received', 'return-path', 'dkim-signature', 'delivered-to'];
const COMMON = ['from', 'to', 'cc', 'subject', 'date', 'sender', 'reply-to', 'content-type'];
/** Lines that are looked at; the first headers are enough. */
const MAX_LINES = 300;

/**
 * Whether a text is an e-mail (RFC 5322): it starts with headers, at least one of them by a mail program. A note that begins
 * with "From:" and "To:" is not an e-mail.
 * @param text the beginning of the file
 * @param named whether the file name ends with `.eml`; then any two headers of e-mails are enough
 */
function looksLikeMail(text: string, named: boolean): boolean {
  const names = new Set<string>();
  const lines = text.replace(/^From \S[^\n]*\n/, '').split('\n', MAX_LINES);
  // The last line may be cut.
  if (lines.length > 1) lines.pop();
  for (const line of lines) {
    if (line === '') break;
    if (/^[\t ]/.test(line) && names.size > 0) continue;
    const name = /^([!-9;-~]{1,76}):/.exec(line)?.[1];
    if (name === undefined) return false;
    names.add(name.toLowerCase());
  }
  const transport = TRANSPORT.filter((name) => names.has(name)).length;
  const common = COMMON.filter((name) => names.has(name)).length;
  return named ? transport + common >= 2 : transport >= 1 && common >= 2;
}
