import { createHash } from 'node:crypto';
import type { Db } from 'mongodb';
import type { FileStore } from '../../domain/file-store.js';
import { MOVED_COLLECTIONS } from './records.js';

/** What a comparison of the files of both cells found. */
export interface FilesReport {
  files: number;
  bytes: number;
  /** Files that were missing or different at the target, and were written. */
  written: number;
  /** Ids of files that a record names and the source does not have. */
  missing: string[];
}

interface Digest {
  sha256: string;
  bytes: number;
}

/**
 * Copies the files of an organisation, between any two kinds of file store, and compares the SHA-256 of each at both sides.
 * Files that are equal already are not written again.
 * @throws Error when a file that was written reads differently
 */
export async function copyFiles(db: Db, source: FileStore, target: FileStore, org: string): Promise<FilesReport> {
  const report: FilesReport = { files: 0, bytes: 0, written: 0, missing: [] };
  for await (const file of fileIds(db, org)) {
    const wanted = await digestOf(source, file);
    if (!wanted) {
      report.missing.push(file);
      continue;
    }
    report.files += 1;
    report.bytes += wanted.bytes;
    if ((await digestOf(target, file))?.sha256 === wanted.sha256) continue;
    const batch = `move/${file}`;
    await target.remove(file);
    await target.write(file, { org, batch }, source.read(file));
    await target.claim({ org, batch });
    report.written += 1;
    if ((await digestOf(target, file))?.sha256 !== wanted.sha256) {
      throw new Error(`the file ${file} reads differently at the target; run the command again`);
    }
  }
  return report;
}

/** Ids of the files that the records of an organisation name. */
export async function* fileIds(db: Db, org: string): AsyncGenerator<string> {
  const projection = { 'source.file_id': 1, 'served.source.file_id': 1 };
  for await (const filter of MOVED_COLLECTIONS.items!(db, org)) {
    for await (const { source, served } of db.collection('items').find(filter, { projection })) {
      const ids = [source?.file_id, served?.source?.file_id].filter((id) => typeof id === 'string');
      yield* new Set<string>(ids);
    }
  }
  for await (const { _id } of db.collection('uploads').find({ org }, { projection: { _id: 1 } })) yield String(_id);
}

/** @returns null when the store has no such file */
async function digestOf(files: FileStore, file: string): Promise<Digest | null> {
  const hash = createHash('sha256');
  let bytes = 0;
  try {
    for await (const chunk of files.read(file)) {
      hash.update(chunk as Buffer);
      bytes += (chunk as Buffer).length;
    }
  } catch (error) {
    // GridFS's own error, which a bucket reports too: files from before the bucket are in GridFS.
    if (/^FileNotFound/.test((error as Error).message)) return null;
    throw error;
  }
  return { sha256: hash.digest('hex'), bytes };
}
