import { fileTypeFromBuffer, fileTypeFromStream } from 'file-type';
import { type DetectOptions, ExtractionError, type FileKind } from '../../domain/extraction.js';
import { detectCompoundKind } from './compound-file.js';
import { detectTextKind } from './detect-text-kind.js';
import { decodeText, sniffEncoding } from './plain-text.js';

/** The formats that are supported, by the names that `file-type` gives them. */
const DOCUMENTS = ['pdf', 'docx', 'xlsx', 'pptx', 'odt', 'ods', 'odp', 'rtf', 'epub'] as const satisfies FileKind[];
const PICTURES = ['png', 'jpg', 'webp', 'tif', 'bmp', 'gif'];
const TEXT_MIME: Partial<Record<FileKind, string>> = {
  csv: 'text/csv',
  html: 'text/html',
  svg: 'image/svg+xml',
  markdown: 'text/markdown',
  json: 'application/json',
  eml: 'message/rfc822',
  text: 'text/plain',
};

/** First bytes of a TIFF in both byte orders. */
const TIFF = ['II*\0', 'MM\0*'];

/**
 * Detects a file's kind from its content.
 * @param head the first 64 KiB of the file, or all of it when it is shorter
 * @throws ExtractionError E1002 unsupported format, E2001 empty, E2002 a password-protected Office document
 */
export async function detectFileKind(
  head: Buffer,
  options: DetectOptions = {},
): Promise<{ kind: FileKind; mime_type: string }> {
  if (head.length === 0) throw new ExtractionError('E2001', 'The file is empty.');
  // Text first: the magic of many formats is two letters that a sentence can begin with ("BM", "MZ").
  if (sniffEncoding(head)) return textKind(head, options.filename);
  const type = await detectFormat(head, options.openStream);
  if (type?.ext === 'cfb') return detectCompoundKind(head, options.openStream);
  const kind = type && (PICTURES.includes(type.ext) ? 'image' : DOCUMENTS.find((document) => document === type.ext));
  if (!kind) throw new ExtractionError('E1002');
  return { kind, mime_type: type.mime };
}

/**
 * As `detectFileKind`, but accepts formats that no parser reads: recordings are `audio`, all others `unknown`.
 * @param head the first 64 KiB of the file, or all of it when it is shorter
 * @throws ExtractionError E2001 empty, E2002 a password-protected Office document
 */
export async function describeFile(
  head: Buffer,
  options: DetectOptions = {},
): Promise<{ kind: FileKind | 'audio' | 'unknown'; mime_type: string }> {
  try {
    return await detectFileKind(head, options);
  } catch (error) {
    if (!(error instanceof ExtractionError) || error.code !== 'E1002') throw error;
    const mime_type = (await fileTypeFromBuffer(head))?.mime ?? 'application/octet-stream';
    // Recordings often come in video containers.
    return { kind: /^(audio|video)\//.test(mime_type) ? 'audio' : 'unknown', mime_type };
  }
}

function textKind(head: Buffer, filename?: string): { kind: FileKind; mime_type: string } {
  const text = decodeText(head).trimStart();
  if (text.startsWith('%PDF-')) return { kind: 'pdf', mime_type: 'application/pdf' };
  if (text.startsWith('{\\rtf')) return { kind: 'rtf', mime_type: 'application/rtf' };
  if (text.startsWith('%!PS')) throw new ExtractionError('E1002');
  const kind = detectTextKind(text, head.length, filename);
  return { kind, mime_type: TEXT_MIME[kind]! };
}

/** A zip's content types may come after its pictures, so the whole file is searched when the head shows only "zip". */
async function detectFormat(head: Buffer, openStream: DetectOptions['openStream']) {
  const byHead = await fileTypeFromBuffer(head).catch(() => undefined);
  // The library needs the directory of a TIFF, which may come after its pixels.
  if (!byHead && TIFF.includes(head.toString('latin1', 0, 4))) return { ext: 'tif', mime: 'image/tiff' };
  const isZip = head.toString('latin1', 0, 4) === 'PK\x03\x04';
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
