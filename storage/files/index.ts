import type { FileStore } from '../../domain/file-store.js';
import type { S3Location } from '../../domain/s3-location.js';
import type { Access } from '../collections.js';
import { createGridFsFiles } from './gridfs.js';

/**
 * @param bucket where files are stored; without it, GridFS. Files that are in GridFS stay there and stay readable
 * @throws Error when the bucket cannot be reached
 */
export async function createFiles(
  collections: Access<'db' | 'unclaimedFiles' | 'now'>,
  bucket?: S3Location,
): Promise<FileStore> {
  const gridFs = createGridFsFiles(collections);
  if (!bucket) return gridFs;
  // Loaded on demand, because the AWS client costs time and memory in every process.
  const { createS3Files } = await import('./s3.js');
  return createS3Files(collections, bucket, gridFs);
}
