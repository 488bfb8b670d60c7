import type { Readable } from 'node:stream';
import type { S3Location } from '../domain/s3-location.js';
import { createGridFsFiles } from './files/gridfs.js';
import type { Mongo } from './mongo.js';

export interface FileOwner {
  org: string;
  /** The request that the file came with. */
  batch: string;
}

/** The file store: files come and go as streams and are never whole in memory. */
export interface Files {
  /** Stores what a stream holds. When that breaks off, it rejects with the stream's error and nothing stays. */
  write(fileId: string, owner: FileOwner, content: AsyncIterable<Buffer>): Promise<void>;

  /** @param range bytes to read, `end` not included */
  read(fileId: string, range?: { start: number; end: number }): Readable;

  /** Copies a stored file to local disk, for parsers that need random access. */
  copyTo(fileId: string, path: string): Promise<void>;

  /** Does nothing where there is no such file. */
  remove(fileId: string): Promise<void>;

  /** The files of this request belong to items now. */
  claim(batch: string): Promise<void>;

  /** Files of requests that never became items, because their process died in the middle. */
  unclaimedBefore(before: Date, limit: number): Promise<{ file_id: string; batch: string }[]>;
}

/**
 * GridFS, or a bucket where one is named. Files that went to GridFS before there was a bucket stay there and stay readable.
 * @throws Error when the bucket cannot be reached
 */
export async function createFiles(mongo: Mongo, bucket?: S3Location): Promise<Files> {
  const gridFs = createGridFsFiles(mongo);
  if (!bucket) return gridFs;
  // Loaded here, because AWS's client takes its time and memory in every process.
  const { createS3Files } = await import('./files/s3.js');
  return createS3Files(mongo, bucket, gridFs);
}
