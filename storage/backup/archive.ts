import { createReadStream } from 'node:fs';
import { pipeline } from 'node:stream/promises';
import { createGunzip } from 'node:zlib';
import { BSON, type Document } from 'mongodb';
import { linesOf } from '../../domain/lines.js';

/*
 * A backup is a text file of lines of JSON, compressed with gzip. Its lines are in the order of time: of several lines
 * about the same document or file, the last one holds.
 */

/** The first line. */
export interface BackupHeader {
  postback_backup: typeof FORMAT;
  started_at: string;
  /** The name of the MongoDB database. */
  database: string;
}

/** A document as it was, or null when it was deleted. */
export interface DocumentEntry {
  collection: string;
  id: unknown;
  document: Document | null;
}

/** A part of a file from a bucket. Parts of a file follow each other. */
export interface FilePart {
  file: string;
  org: string;
  data: Buffer;
  last: boolean;
}

/** The last line. Without it, the backup is incomplete. */
export interface BackupEnd {
  /** The backup shows everything that was committed up to this time, and nothing after it. */
  point: string;
  /** Ids of the keys that its secrets are sealed with. */
  sealing_keys: string[];
  /** Lines before this one. */
  lines: number;
}

export type BackupEntry = DocumentEntry | FilePart;

export const FORMAT = 1;

/** The JSON of lines; short names, because there is a line for each document. */
type Line =
  | BackupHeader
  | { c: string; d: Document }
  | { c: string; b: string }
  | { c: string; x: Document }
  | { f: string; o: string; p: string; l?: 1 }
  | { end: BackupEnd };

export function headerLine(header: Omit<BackupHeader, 'postback_backup'>): string {
  return toLine({ postback_backup: FORMAT, ...header });
}

/**
 * @param document read with `promoteValues: false`, so that it keeps the types of its numbers
 */
export function documentLine(collection: string, document: Document): string {
  // Extended JSON cannot tell such a field from a type.
  if (hasDollarKey(document)) {
    return toLine({ c: collection, b: Buffer.from(BSON.serialize(document)).toString('base64') });
  }
  return `{"c":${JSON.stringify(collection)},"d":${BSON.EJSON.stringify(document, { relaxed: false })}}\n`;
}

export function deletionLine(collection: string, id: unknown): string {
  return `{"c":${JSON.stringify(collection)},"x":${BSON.EJSON.stringify({ _id: id }, { relaxed: false })}}\n`;
}

export function filePartLine({ file, org, data, last }: FilePart): string {
  return toLine({ f: file, o: org, p: data.toString('base64'), ...(last ? { l: 1 as const } : {}) });
}

export function endLine(end: BackupEnd): string {
  return toLine({ end });
}

const toLine = (line: Line) => `${JSON.stringify(line)}\n`;

function hasDollarKey(value: unknown): boolean {
  if (Array.isArray(value)) return value.some(hasDollarKey);
  // Values of BSON's own types have no fields of documents.
  if (value === null || typeof value !== 'object' || '_bsontype' in value || value instanceof Date) return false;
  return Object.entries(value).some(([name, field]) => name.startsWith('$') || hasDollarKey(field));
}

/** Reads a backup that was checked. @returns its documents and parts of files */
export async function* readEntries(path: string): AsyncGenerator<BackupEntry> {
  for await (const text of readLines(path)) {
    const line = parseLine(text);
    if ('c' in line) yield documentOf(line);
    else if ('f' in line) {
      yield { file: line.f, org: line.o, data: Buffer.from(line.p, 'base64'), last: line.l === 1 };
    }
  }
}

function documentOf(line: Extract<Line, { c: string }>): DocumentEntry {
  if ('b' in line) {
    const document = BSON.deserialize(Buffer.from(line.b, 'base64'), { promoteValues: false });
    return { collection: line.c, id: document._id, document };
  }
  if ('x' in line) return { collection: line.c, id: exact(line.x)._id, document: null };
  const document = exact(line.d);
  return { collection: line.c, id: document._id, document };
}

/** Extended JSON with the types of numbers. */
function exact(value: Document): Document {
  return BSON.EJSON.deserialize(value, { relaxed: false }) as Document;
}

/**
 * Reads a backup to its end, before anything is written from it.
 * @throws Error when the file is no backup, is damaged, or ends early
 */
export async function checkBackup(path: string): Promise<{ header: BackupHeader; end: BackupEnd }> {
  let header: BackupHeader | undefined;
  let end: BackupEnd | undefined;
  let lines = 0;
  try {
    for await (const text of readLines(path)) {
      // Only the first and the last line are parsed here.
      if (header === undefined) header = readHeader(text);
      else if (end) throw new Error('has lines after its end');
      else if (text.startsWith('{"end":')) end = (parseLine(text) as { end: BackupEnd }).end;
      if (!end) lines += 1;
    }
  } catch (error) {
    throw new Error(`${path} is not a complete backup: ${(error as Error).message}`, { cause: error });
  }
  if (!header || end?.lines !== lines) throw new Error(`${path} is not a complete backup: it ends early`);
  return { header, end };
}

function readHeader(text: string): BackupHeader {
  const header = parseLine(text);
  if (!('postback_backup' in header)) throw new Error('its first line is not that of a backup');
  if (header.postback_backup !== FORMAT) {
    throw new Error(`it has the format ${String(header.postback_backup)}, and this release reads ${FORMAT}`);
  }
  return header;
}

const parseLine = (text: string) => JSON.parse(text) as Line;

async function* readLines(path: string): AsyncGenerator<string> {
  const unpacked = createGunzip();
  const piped = pipeline(createReadStream(path), unpacked);
  // Reported by the loop below, which ends with the stream.
  piped.catch(() => undefined);
  yield* linesOf(unpacked);
  await piped;
}
