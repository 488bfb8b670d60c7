import type { Collection, Db } from 'mongodb';
import type { FileStore } from '../../domain/file-store.js';
import type { S3Location } from '../../domain/s3-location.js';
import { createGridFsFiles } from './gridfs.js';
import type { UnclaimedFileRecord } from './s3.js';

/**
 * GridFS, or a bucket where one is named. Files that went to GridFS before there was a bucket stay there and stay readable.
 * @throws Error when the bucket cannot be reached
 */
export async function createFiles(
  collections: { db: Db; unclaimedFiles: Collection<UnclaimedFileRecord> },
  bucket?: S3Location,
): Promise<FileStore> {
  const gridFs = createGridFsFiles(collections);
  if (!bucket) return gridFs;
  // Loaded here, because AWS's client takes its time and memory in every process.
  const { createS3Files } = await import('./s3.js');
  return createS3Files(collections, bucket, gridFs);
}
