import { readFile } from 'node:fs/promises';
import chardet from 'chardet';
import iconv from 'iconv-lite';
import { type Extraction, HEAD_BYTES } from '../../domain/extraction.js';

/** Percent. Below it chardet's guess on short text is worthless; windows-1252 decodes any byte. */
const MIN_CONFIDENCE = 40;
/** For Central European encodings, which chardet guesses only where they are, and for words in another script. */
const MIN_CONFIDENCE_CENTRAL = 25;
const MIN_CONFIDENCE_ALONE = 20;

const BOMS: [number[], string][] = [
  [[0xff, 0xfe, 0, 0], 'utf-32le'],
  [[0, 0, 0xfe, 0xff], 'utf-32be'],
  [[0xef, 0xbb, 0xbf], 'utf-8'],
  [[0xff, 0xfe], 'utf-16le'],
  [[0xfe, 0xff], 'utf-16be'],
];

/** A plain text file: one section, its paragraphs unchanged. */
export async function extractText(path: string): Promise<Extraction> {
  return { title: null, sections: [{ text: decodeText(await readFile(path)).trim(), headings: [] }] };
}

/** The text that a client sent with an item: one section, unchanged. @param path a file in UTF-8 */
export async function readItemText(path: string): Promise<Extraction> {
  return { title: null, sections: [{ text: await readFile(path, 'utf8'), headings: [] }] };
}

/**
 * Detects the character encoding of a file from its first bytes.
 * @param head first bytes of the file; may end in the middle of a character
 * @returns a name that `iconv-lite` knows, or null when the bytes are not text
 */
export function sniffEncoding(head: Buffer): string | null {
  const marked = BOMS.find(([mark]) => mark.every((byte, index) => head[index] === byte));
  if (marked) return marked[1];
  if (head.includes(0)) return sniffUtf16(head);
  const utf8 = isUtf8(head);
  if (controlShare(head) > (utf8 ? MAX_CONTROL_SHARE : 0)) return null;
  return utf8 ? 'utf-8' : legacyEncoding(head);
}

/**
 * The encoding of bytes that are not UTF-8. The guess of `chardet` on a text with English names and tags is Latin, because most of
 * its letters are, so words of another script are judged alone.
 */
function legacyEncoding(bytes: Buffer): string {
  const best = guess(bytes);
  const isCentral = /^(?:ISO-8859-2|windows-1250)$/.test(best?.name ?? '');
  const isSure = best !== undefined && best.confidence >= (isCentral ? MIN_CONFIDENCE_CENTRAL : MIN_CONFIDENCE);
  if (isSure && !/^(?:ISO-8859-1|windows-1252)$/.test(best.name)) return best.name;
  const words = bytes.toString('latin1').split(/[^A-Za-z\x80-\xff]+/);
  const foreign = words.filter((word) => /[\xc0-\xff]{3}/.test(word)).join(' ');
  const letters = foreign.match(/[A-Za-z\xc0-\xff]/g)?.length ?? 0;
  const beyondAscii = foreign.match(/[\xc0-\xff]/g)?.length ?? 0;
  // In Latin script most letters of a word with accents have none.
  const alone = beyondAscii > letters * 0.6 ? guess(Buffer.from(foreign, 'latin1')) : undefined;
  if (alone && alone.confidence >= MIN_CONFIDENCE_ALONE && /^(?:ISO-8859|windows|KOI8)/.test(alone.name))
    return alone.name;
  return isSure ? best.name : 'windows-1252';
}

function guess(bytes: Buffer) {
  return chardet.analyse(bytes).find(({ name }) => iconv.encodingExists(name) && !name.startsWith('UTF'));
}

/** Decodes a whole text file and cleans it as `cleanText` does. */
export function decodeText(file: Buffer): string {
  return cleanText(iconv.decode(file, encodingOf(file)));
}

/** @returns the encoding of a whole text file, by a name that `iconv-lite` knows */
export function encodingOf(file: Buffer): string {
  const encoding = sniffEncoding(file.subarray(0, HEAD_BYTES)) ?? 'utf-8';
  // A file that starts with ASCII may contain other bytes later; a legacy encoding is then better than U+FFFD.
  if (encoding !== 'utf-8' || isUtf8(file) || isNearlyUtf8(file)) return encoding;
  const first = file.findIndex((byte) => byte > 0x7f);
  return legacyEncoding(file.subarray(first, first + HEAD_BYTES));
}

/** Removes the byte order mark and control characters, which cannot be stored or shown, and makes every line end `\n`. */
export function cleanText(text: string): string {
  return text
    .replace(/^\uFEFF/, '')
    .replace(/\r\n?|\f|\u2028|\u2029/g, '\n')
    .replace(/[\u0000-\u0008\u000B\u000E-\u001F\u007F\uFFFE\uFFFF]/g, '');
}

/** Letters and digits of a text, a measure of how much it says. */
export function countLetters(text: string): number {
  return text.match(/[\p{L}\p{N}]/gu)?.length ?? 0;
}

/** Characters of UTF-8 for each damaged one. In other encodings, hardly any byte beyond ASCII is part of UTF-8. */
const UTF8_PER_DAMAGED = 10;

/** A few damaged characters, such as one that a program cut, must not change how all others are read. */
function isUtf8(bytes: Buffer): boolean {
  try {
    // `stream` accepts a character cut at the end of the head.
    new TextDecoder('utf-8', { fatal: true }).decode(bytes, { stream: true });
    return true;
  } catch {
    const text = bytes.toString('utf8');
    const found = { damaged: 0, sound: 0 };
    for (let at = 0; at < text.length; at++) {
      const code = text.charCodeAt(at);
      if (code > 0x7f) found[code === 0xfffd ? 'damaged' : 'sound'] += 1;
    }
    return found.sound >= found.damaged * UTF8_PER_DAMAGED;
  }
}

/** Whether a text is UTF-8 but for a few bytes, such as half of a character where a program has cut it. */
function isNearlyUtf8(bytes: Buffer): boolean {
  const text = bytes.toString('utf8');
  let [read, lost] = [0, 0];
  for (let at = 0; at < text.length; at += 1) {
    const unit = text.charCodeAt(at);
    if (unit === 0xfffd) lost += 1;
    else if (unit > 0x7f) read += 1;
  }
  return read > lost * 10;
}

/** A few control characters are left in texts that a program made of another format. */
const MAX_CONTROL_SHARE = 0.001;
/** DOS ends a text with it. */
const END_OF_FILE = 0x1a;

/** Text has tabs, line ends, form feeds and escape sequences. @returns the share of other C0 controls, which mean a binary format */
function controlShare(bytes: Buffer): number {
  const text = bytes.at(-1) === END_OF_FILE ? bytes.subarray(0, -1) : bytes;
  let controls = 0;
  for (const byte of text) if (byte < 0x20 && !(byte >= 0x09 && byte <= 0x0d) && byte !== 0x1b) controls += 1;
  return controls / Math.max(1, text.length);
}

/** UTF-16 without a byte order mark: the zero bytes of Western text are all on one side, and it has no control characters. */
function sniffUtf16(head: Buffer): string | null {
  if (head.length < 8) return null;
  const zeros = [0, 0];
  for (const [index, byte] of head.entries()) if (byte === 0) zeros[index % 2]!++;
  const [even, odd] = zeros as [number, number];
  const encoding =
    odd > head.length * 0.3 && even === 0 ? 'utf-16le' : even > head.length * 0.3 && odd === 0 ? 'utf-16be' : null;
  if (!encoding) return null;
  const text = iconv.decode(head.subarray(0, head.length & ~1), encoding);
  return /[\u0000-\u0008\u000E-\u001A\uFFFD]/.test(text) ? null : encoding;
}
