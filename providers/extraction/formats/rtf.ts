import { RtfFonts } from './rtf-fonts.js';

/**
 * What an RTF file is made of, in Latin-1: a control word with its number and the space that ends it, a byte in hex, a control
 * symbol, a brace, or text with line ends, which mean nothing.
 */
const TOKENS = /\\([a-z]{1,32})(-?\d{1,10})? ?|\\'[\da-f]{2}|\\[\s\S]|[{}]|[^\\{}]+/gi;

/** Stands for what is left out, so that text behind it does not become part of the control word before it. */
const END = '\\uc0 ';
const unicode = (code: number) => `\\uc0\\u${code} `;

/** Characters that `officeparser` omits, or reads as the marks that they are written with. */
const CHARACTERS = new Map([
  ['\\emdash', unicode(0x2014)],
  ['\\endash', unicode(0x2013)],
  ['\\bullet', unicode(0x2022)],
  ['\\~', unicode(0xa0)],
  ['\\_', unicode(0x2d)],
  ['\\-', END],
  ['\\\n', '\\line '],
  ['\\\r', '\\line '],
]);

/**
 * The file with each character beyond ASCII as Unicode. `officeparser` reads all bytes in the encoding of the document, also where
 * their font has another, and reads as text the replacements for programs without Unicode (`\u8364 ?`).
 */
export function inUnicode(file: Buffer): Buffer {
  const text = file.toString('latin1');
  const pieces: string[] = [];
  /** Replacements of a character, in the groups around. */
  const lengths = [1];
  let skip = 0;
  const fonts = new RtfFonts();
  TOKENS.lastIndex = 0;
  for (let match = TOKENS.exec(text); match; match = TOKENS.exec(text)) {
    const [token, word, number = ''] = match;
    const isGroup = token === '{' || token === '}';
    if (isGroup) skip = 0;
    if (token === '{') {
      lengths.push(lengths.at(-1)!);
      fonts.open();
    } else if (token === '}') {
      if (lengths.length > 1) lengths.pop();
      fonts.close();
    } else if (word) fonts.word(word, Number(number));
    const byte = skip === 0 && token.startsWith("\\'") ? fonts.read(text, match.index) : null;
    if (word === 'bin') {
      // So many bytes of anything follow.
      const end = TOKENS.lastIndex + Math.max(0, Number(number));
      pieces.push(token, text.slice(TOKENS.lastIndex, end));
      TOKENS.lastIndex = end;
    } else if (word === 'uc') {
      lengths[lengths.length - 1] = Math.max(0, Number(number));
      pieces.push(END);
    } else if (word === 'u') {
      pieces.push(unicode(Number(number)));
      skip = lengths.at(-1)!;
    } else if (byte) {
      pieces.push(...[...byte.character].map((character) => unicode(character.codePointAt(0)!)));
      TOKENS.lastIndex = byte.end;
    } else if (token.startsWith('\\') && skip > 0) skip -= 1;
    else if (isGroup || skip === 0) pieces.push(CHARACTERS.get(word ? `\\${word}` : token) ?? token);
    else {
      const line = token.replace(/^[\r\n]+/, '');
      pieces.push(line.slice(skip));
      skip = Math.max(0, skip - line.length);
    }
  }
  return Buffer.from(pieces.join(''), 'latin1');
}
