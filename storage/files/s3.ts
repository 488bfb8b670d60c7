import { createWriteStream } from 'node:fs';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { DeleteObjectCommand, GetObjectCommand, NoSuchKey } from '@aws-sdk/client-s3';
import { Upload } from '@aws-sdk/lib-storage';
import { type FileStore, FileStoreError } from '../../domain/file-store.js';
import type { S3Location } from '../../domain/s3-location.js';
import type { Access } from '../collections.js';
import { connectBucket } from '../s3-bucket.js';

/** An object in the bucket that no item owns yet. */
export interface UnclaimedFileRecord {
  /** The file's id, and the last part of the object's key. */
  _id: string;
  org: string;
  batch: string;
  /** Set before the upload starts. */
  created_at: Date;
}

/** Parts of 5 MiB that one upload sends at a time, and so its maximum memory. */
const CONCURRENT_PARTS = 2;

/**
 * The file store in a bucket. MongoDB has a record of each file that is not claimed yet. The record is written before the
 * object, so that unclaimed objects are always found.
 * @param earlier the store of files from before the bucket was configured
 * @throws Error when the bucket cannot be reached
 */
export async function createS3Files(
  { unclaimedFiles, now }: Access<'unclaimedFiles' | 'now'>,
  location: S3Location,
  earlier: FileStore,
): Promise<FileStore> {
  const client = await connectBucket(location);
  const Bucket = location.bucket;
  const keyOf = (fileId: string) => `${location.prefix}${fileId}`;

  async function* contentOf(fileId: string, range?: { start: number; end: number }): AsyncGenerator<Buffer> {
    // S3 cannot return an empty range.
    if (range && range.start >= range.end) return;
    const Range = range && `bytes=${range.start}-${range.end - 1}`;
    try {
      const { Body } = await client.send(new GetObjectCommand({ Bucket, Key: keyOf(fileId), Range }));
      yield* Body as Readable;
    } catch (error) {
      if (!(error instanceof NoSuchKey)) throw new FileStoreError(error);
      yield* earlier.read(fileId, range);
    }
  }

  async function remove(fileId: string): Promise<void> {
    await client.send(new DeleteObjectCommand({ Bucket, Key: keyOf(fileId) })).catch((error) => {
      throw new FileStoreError(error);
    });
    await unclaimedFiles.deleteOne({ _id: fileId });
    await earlier.remove(fileId);
  }

  const read: FileStore['read'] = (fileId, range) => Readable.from(contentOf(fileId, range), { objectMode: false });

  return {
    async write(fileId, { org, batch }, content) {
      await unclaimedFiles.insertOne({ _id: fileId, org, batch, created_at: now() });
      const Body = Readable.from(content, { objectMode: false });
      const upload = new Upload({ client, queueSize: CONCURRENT_PARTS, params: { Bucket, Key: keyOf(fileId), Body } });
      try {
        await upload.done();
      } catch (error) {
        // If the removal fails, the reconciler finds the file by its record.
        await remove(fileId).catch(() => undefined);
        // Either the content or the bucket failed.
        throw Body.errored ?? new FileStoreError(error);
      }
    },
    read,
    async copyTo(fileId, path) {
      await pipeline(read(fileId), createWriteStream(path));
    },
    remove,
    async claim({ org, batch }) {
      await unclaimedFiles.deleteMany({ org, batch });
      await earlier.claim({ org, batch });
    },
    async unclaimedBefore(before, limit) {
      const found = await unclaimedFiles
        .find({ created_at: { $lt: before } })
        .limit(limit)
        .toArray();
      const unclaimed = found.map(({ _id, org, batch }) => ({ file_id: _id, org, batch }));
      // Files of the earlier store follow once there are none in the bucket.
      return unclaimed.length > 0 ? unclaimed : earlier.unclaimedBefore(before, limit);
    },
  };
}
