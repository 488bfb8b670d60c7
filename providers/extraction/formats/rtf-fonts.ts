import iconv from 'iconv-lite';

/** Encodings by the character set that the table of fonts states. 0 and 1 are those of the document. */
const CHARACTER_SETS: Record<number, string> = {
  77: 'macintosh',
  128: 'cp932', // Japanese
  129: 'cp949', // Korean
  134: 'cp936', // Chinese, mainland
  136: 'cp950', // Chinese, Taiwan
  161: 'cp1253', // Greek
  162: 'cp1254', // Turkish
  163: 'cp1258', // Vietnamese
  177: 'cp1255', // Hebrew
  178: 'cp1256', // Arabic
  186: 'cp1257', // Baltic
  204: 'cp1251', // Cyrillic
  222: 'cp874', // Thai
  238: 'cp1250', // Central European
};
/** Bytes that start a character of two bytes. */
const LEADS: Record<string, (byte: number) => boolean> = {
  cp932: (byte) => (byte >= 0x81 && byte <= 0x9f) || (byte >= 0xe0 && byte <= 0xfc),
  cp936: (byte) => byte >= 0x81 && byte <= 0xfe,
  cp949: (byte) => byte >= 0x81 && byte <= 0xfe,
  cp950: (byte) => byte >= 0x81 && byte <= 0xfe,
};
/** A byte in hex, or of the second half of a character: one that is written as it is. */
const BYTE = /\\'([\da-f]{2})|\\([\\{}])|([^\\{}\r\n])/iy;

/** The encodings of an RTF file: each font can have its own. */
export class RtfFonts {
  private readonly encodings = new Map<number, string>();
  /** The fonts of the groups around. */
  private readonly fonts: number[] = [0];
  private first = 0;
  /** Of the document; undefined for Western Windows and for UTF-8, which `officeparser` reads. */
  private encoding: string | undefined;

  open(): void {
    this.fonts.push(this.fonts.at(-1)!);
  }

  close(): void {
    if (this.fonts.length > 1) this.fonts.pop();
  }

  /** Takes a control word, which may choose a font. */
  word(word: string, number: number): void {
    const top = this.fonts.length - 1;
    if (word === 'f') this.fonts[top] = number;
    else if (word === 'plain') this.fonts[top] = this.first;
    else if (word === 'deff') this.fonts[top] = this.first = number;
    else if (word === 'fcharset' && CHARACTER_SETS[number])
      this.encodings.set(this.fonts[top]!, CHARACTER_SETS[number]);
    else if (word === 'ansicpg' && number !== 1252 && iconv.encodingExists(`cp${number}`))
      this.encoding = `cp${number}`;
  }

  /**
   * Reads a character in the encoding of the current font.
   * @param at where its first byte is written in hex
   * @returns null when the encoding is Western, or when there is no byte in hex
   */
  read(text: string, at: number): { character: string; end: number } | null {
    const encoding = this.encodings.get(this.fonts.at(-1)!) ?? this.encoding;
    if (encoding === undefined) return null;
    const bytes: number[] = [];
    let end = at;
    while (bytes.length === 0 || (bytes.length === 1 && LEADS[encoding]?.(bytes[0]!))) {
      BYTE.lastIndex = end;
      const [written, hex, symbol, plain] = BYTE.exec(text) ?? [];
      if (written === undefined) break;
      bytes.push(hex ? Number.parseInt(hex, 16) : (symbol ?? plain)!.charCodeAt(0));
      end += written.length;
    }
    if (bytes.length === 0) return null;
    return { character: iconv.decode(Buffer.from(bytes), encoding), end };
  }
}
