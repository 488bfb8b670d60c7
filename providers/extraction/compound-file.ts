import type { Readable } from 'node:stream';
import { ExtractionError, type FileKind } from '../../domain/extraction.js';

/** Compound files (CFB): Office documents from before 2007, Outlook messages, and Office documents with a password. */

const MIME_TYPES = {
  doc: 'application/msword',
  xls: 'application/vnd.ms-excel',
  ppt: 'application/vnd.ms-powerpoint',
  msg: 'application/vnd.ms-outlook',
} as const;
type CompoundKind = keyof typeof MIME_TYPES;

/** First four bytes of the class id that the root entry states, hex, as they are stored. */
const CLASSES: Record<string, CompoundKind> = {
  '00090200': 'doc',
  '06090200': 'doc',
  '10080200': 'xls',
  '20080200': 'xls',
  '108d8164': 'ppt',
  '0b0d0200': 'msg',
};

/** Names in the directory of a file that states no class, in order: a message can contain any of the others. */
const NAMES: [name: string, kind: CompoundKind | 'encrypted'][] = [
  ['EncryptedPackage', 'encrypted'],
  ['__properties_version1.0', 'msg'],
  ['PowerPoint Document', 'ppt'],
  ['WordDocument', 'doc'],
  ['Workbook', 'xls'],
];
const patterns = NAMES.map(([name]) => Buffer.from(name, 'utf16le'));
const LONGEST = Math.max(...patterns.map(({ length }) => length));

/** Offset and length of the class id in a directory entry. */
const [CLASS_AT, CLASS_BYTES] = [80, 16];

/**
 * Detects what a compound file is.
 * @param head its first 64 KiB
 * @throws ExtractionError E1002 a presentation or an unknown file, E2002 a password-protected Office document
 */
export async function detectCompoundKind(
  head: Buffer,
  openStream?: () => Readable,
): Promise<{ kind: FileKind; mime_type: string }> {
  const kind = (await statedKind(head, openStream)) ?? (await namedKind(head, openStream));
  if (kind === 'encrypted') throw new ExtractionError('E2002');
  if (kind === 'ppt')
    throw new ExtractionError('E1002', 'Presentations of PowerPoint 97-2003 (.ppt) are not read: save it as .pptx.');
  if (!kind) throw new ExtractionError('E1002');
  return { kind, mime_type: MIME_TYPES[kind] };
}

/** The kind by the class of the root, the first entry of the directory. */
async function statedKind(head: Buffer, openStream?: () => Readable): Promise<CompoundKind | undefined> {
  if (head.length < 52) return undefined;
  const sectorBytes = 2 ** Math.min(head.readUInt16LE(30), 12);
  const at = (head.readUInt32LE(48) + 1) * sectorBytes + CLASS_AT;
  const found = await bytesAt(at, CLASS_BYTES, head, openStream);
  return found && CLASSES[found.toString('hex', 0, 4)];
}

async function bytesAt(
  at: number,
  length: number,
  head: Buffer,
  openStream?: () => Readable,
): Promise<Buffer | undefined> {
  if (at + length <= head.length) return head.subarray(at, at + length);
  if (!openStream) return undefined;
  let position = 0;
  let found = Buffer.alloc(0);
  for await (const chunk of openStream()) {
    const bytes = chunk as Buffer;
    found = Buffer.concat([found, bytes.subarray(Math.max(0, at - position), Math.max(0, at + length - position))]);
    position += bytes.length;
    if (found.length >= length) return found.subarray(0, length);
  }
  return undefined;
}

async function namedKind(head: Buffer, openStream?: () => Readable): Promise<CompoundKind | 'encrypted' | undefined> {
  const seen = patterns.map((pattern) => head.includes(pattern));
  if (openStream) {
    let tail = Buffer.alloc(0);
    for await (const chunk of openStream()) {
      const window = Buffer.concat([tail, chunk as Buffer]);
      for (const [index, pattern] of patterns.entries()) seen[index] ||= window.includes(pattern);
      tail = window.subarray(-LONGEST);
    }
  }
  return NAMES.find((_, index) => seen[index])?.[1];
}
