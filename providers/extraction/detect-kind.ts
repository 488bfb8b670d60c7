import type { Readable } from 'node:stream';
import { fileTypeFromBuffer, fileTypeFromStream } from 'file-type';
import { ExtractionError, type FileKind } from '../../domain/extraction.js';
import { detectTextKind } from './detect-text-kind.js';
import { decodeText, sniffEncoding } from './text-encoding.js';

/** What `file-type` calls a format, and the kind it is here. What is not in this list is refused. */
const BINARY_KINDS: Record<string, FileKind> = {
  pdf: 'pdf',
  docx: 'docx',
  xlsx: 'xlsx',
  pptx: 'pptx',
  odt: 'odt',
  ods: 'ods',
  odp: 'odp',
  rtf: 'rtf',
  png: 'image',
  jpg: 'image',
  webp: 'image',
  tif: 'image',
  bmp: 'image',
  gif: 'image',
};
const TEXT_MIME: Partial<Record<FileKind, string>> = {
  csv: 'text/csv',
  html: 'text/html',
  markdown: 'text/markdown',
  json: 'application/json',
  text: 'text/plain',
};
/** Office documents with a password are compound files with this stream; its name stands in their directory. */
const ENCRYPTED_PACKAGE = Buffer.from('EncryptedPackage', 'utf16le');

/** First bytes of a TIFF in both orders of bytes. */
const TIFF = ['II*\0', 'MM\0*'];

export interface DetectOptions {
  /** Decides among text kinds when the content leaves it open; nothing else. */
  filename?: string;
  /** Opens the whole file from its start; asked for when the head of a container does not tell. */
  openStream?: () => Readable;
}

/**
 * Tells a file's kind by its content.
 * @param head the first 64 KiB of the file, or all of it when it is shorter
 * @throws ExtractionError E1002 not a supported format, E2001 empty, E2002 a password-protected Office document
 */
export async function detectFileKind(
  head: Buffer,
  options: DetectOptions = {},
): Promise<{ kind: FileKind; mime_type: string }> {
  if (head.length === 0) throw new ExtractionError('E2001', 'The file is empty.');
  // Text first: the magic of many formats is two letters that a sentence can begin with ("BM", "MZ").
  if (sniffEncoding(head)) return textKind(head, options.filename);
  const type = await magic(head, options.openStream);
  const kind = type && BINARY_KINDS[type.ext];
  if (type?.ext === 'cfb' && (await hasEncryptedPackage(head, options.openStream))) throw new ExtractionError('E2002');
  if (!type || !kind) throw new ExtractionError('E1002');
  return { kind, mime_type: type.mime };
}

function textKind(head: Buffer, filename?: string): { kind: FileKind; mime_type: string } {
  const text = decodeText(head).trimStart();
  if (text.startsWith('%PDF-')) return { kind: 'pdf', mime_type: 'application/pdf' };
  if (text.startsWith('{\\rtf')) return { kind: 'rtf', mime_type: 'application/rtf' };
  if (text.startsWith('%!PS')) throw new ExtractionError('E1002');
  const kind = detectTextKind(text, head.length, filename);
  return { kind, mime_type: TEXT_MIME[kind]! };
}

/** A zip's content types may come after its pictures, so the whole file is looked through when the head says only "zip". */
async function magic(head: Buffer, openStream: DetectOptions['openStream']) {
  const byHead = await fileTypeFromBuffer(head).catch(() => undefined);
  // A TIFF's directory may come after its pixels; without it the library says nothing.
  if (!byHead && TIFF.includes(head.toString('latin1', 0, 4))) return { ext: 'tif', mime: 'image/tiff' };
  const isZip = head.readUInt32BE(0) === 0x504b0304;
  if (!openStream || !isZip || (byHead && byHead.ext !== 'zip')) return byHead;
  const stream = openStream();
  try {
    return (await fileTypeFromStream(stream)) ?? byHead;
  } catch {
    return byHead;
  } finally {
    stream.destroy();
  }
}

async function hasEncryptedPackage(head: Buffer, openStream: DetectOptions['openStream']): Promise<boolean> {
  if (head.includes(ENCRYPTED_PACKAGE)) return true;
  if (!openStream) return false;
  let tail = Buffer.alloc(0);
  for await (const chunk of openStream()) {
    const window = Buffer.concat([tail, chunk as Buffer]);
    if (window.includes(ENCRYPTED_PACKAGE)) return true;
    tail = window.subarray(-ENCRYPTED_PACKAGE.length);
  }
  return false;
}
