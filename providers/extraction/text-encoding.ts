import chardet from 'chardet';
import iconv from 'iconv-lite';

/** Below this confidence (percent) a guess of chardet on short text is as good as none, and windows-1252 reads every byte. */
const MIN_CONFIDENCE = 40;

const BOMS: [number[], string][] = [
  [[0xff, 0xfe, 0, 0], 'utf-32le'],
  [[0, 0, 0xfe, 0xff], 'utf-32be'],
  [[0xef, 0xbb, 0xbf], 'utf-8'],
  [[0xff, 0xfe], 'utf-16le'],
  [[0xfe, 0xff], 'utf-16be'],
];

/**
 * Names the character encoding of a file's beginning.
 * @param head first bytes of the file; a character cut at its end does not matter
 * @returns a name that `iconv-lite` knows, or null when these bytes are not text
 */
export function sniffEncoding(head: Buffer): string | null {
  const marked = BOMS.find(([mark]) => mark.every((byte, index) => head[index] === byte));
  if (marked) return marked[1];
  if (head.includes(0)) return sniffUtf16(head);
  if (hasControlCharacters(head)) return null;
  if (isUtf8(head)) return 'utf-8';
  const [best] = chardet.analyse(head).filter(({ name }) => iconv.encodingExists(name) && !name.startsWith('UTF'));
  return best && best.confidence >= MIN_CONFIDENCE ? best.name : 'windows-1252';
}

/** Decodes a whole text file: BOM dropped, line ends made `\n`, control characters removed. */
export function decodeText(file: Buffer): string {
  const encoding = sniffEncoding(file.subarray(0, 64 * 1024)) ?? 'utf-8';
  // A file that is ASCII in its head can turn out to be something else later; a legacy guess then beats U+FFFD.
  const settled = encoding === 'utf-8' && !isUtf8(file) ? (chardet.detect(file) ?? 'windows-1252') : encoding;
  const text = iconv.decode(file, iconv.encodingExists(settled) ? settled : 'windows-1252');
  return cleanText(text);
}

/** Line ends as `\n`; no control characters but tab and line feed, which nothing downstream can store or show. */
export function cleanText(text: string): string {
  return text
    .replace(/^\uFEFF/, '')
    .replace(/\r\n?|\f|\u2028|\u2029/g, '\n')
    .replace(/[\u0000-\u0008\u000B\u000E-\u001F\u007F\uFFFE\uFFFF]/g, '');
}

function isUtf8(bytes: Buffer): boolean {
  try {
    // `stream` tolerates a character cut in two at the end of the head.
    new TextDecoder('utf-8', { fatal: true }).decode(bytes, { stream: true });
    return true;
  } catch {
    return false;
  }
}

/** Text has tabs, line ends, form feeds and escape sequences; other C0 controls mean a binary format. */
function hasControlCharacters(bytes: Buffer): boolean {
  return bytes.some((byte) => byte < 0x20 && !(byte >= 0x09 && byte <= 0x0d) && byte !== 0x1b);
}

/** UTF-16 without a mark: the zero bytes of Western text stand all on one side, and nothing decodes to a control. */
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
