import type { Readable } from 'node:stream';
import { GetObjectCommand, ListObjectsV2Command, NoSuchKey } from '@aws-sdk/client-s3';
import type { S3Location } from '../../domain/s3-location.js';
import { connectBucket } from '../s3-bucket.js';

/**
 * The bucket of the file store, as a backup reads it.
 * @throws Error when the bucket cannot be reached
 */
export async function openBucket(location: S3Location) {
  const client = await connectBucket(location);
  const Bucket = location.bucket;
  return {
    /** @returns null when the bucket has no such file: it was removed, or is in GridFS */
    async read(fileId: string): Promise<AsyncIterable<Buffer> | null> {
      try {
        const { Body } = await client.send(new GetObjectCommand({ Bucket, Key: `${location.prefix}${fileId}` }));
        return Body as Readable;
      } catch (error) {
        if (error instanceof NoSuchKey) return null;
        throw error;
      }
    },

    async isEmpty(): Promise<boolean> {
      const listed = await client.send(new ListObjectsV2Command({ Bucket, Prefix: location.prefix, MaxKeys: 1 }));
      return (listed.Contents ?? []).length === 0;
    },

    close: () => client.destroy(),
  };
}
