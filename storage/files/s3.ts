import { createWriteStream } from 'node:fs';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { DeleteObjectCommand, GetObjectCommand, NoSuchKey } from '@aws-sdk/client-s3';
import { Upload } from '@aws-sdk/lib-storage';
import type { Collection } from 'mongodb';
import { type FileStore, FileStoreError } from '../../domain/file-store.js';
import type { S3Location } from '../../domain/s3-location.js';
import { connectBucket } from '../s3-bucket.js';

/** An object of the file store's bucket that belongs to no item yet. */
export interface UnclaimedFileRecord {
  /** The file's id, and the last part of the object's key. */
  _id: string;
  org: string;
  batch: string;
  /** Before the upload began. */
  created_at: Date;
}

/** Parts of one upload under way at a time, 5 MiB each: what it may hold in memory. */
const PARTS_AT_ONCE = 2;

/**
 * Files as objects of a bucket. Whose they are stands in MongoDB only until somebody claims them: a record is written
 * before its object, so an object that nobody claims is always found.
 * @param earlier holds the files that were stored before there was a bucket
 * @throws Error when the bucket cannot be reached
 */
export async function createS3Files(
  { unclaimedFiles }: { unclaimedFiles: Collection<UnclaimedFileRecord> },
  location: S3Location,
  earlier: FileStore,
): Promise<FileStore> {
  const client = await connectBucket(location);
  const Bucket = location.bucket;
  const keyOf = (fileId: string) => `${location.prefix}${fileId}`;

  async function* contentOf(fileId: string, range?: { start: number; end: number }): AsyncGenerator<Buffer> {
    // S3 has no way to ask for no bytes.
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
      await unclaimedFiles.insertOne({ _id: fileId, org, batch, created_at: new Date() });
      const Body = Readable.from(content, { objectMode: false });
      const upload = new Upload({ client, queueSize: PARTS_AT_ONCE, params: { Bucket, Key: keyOf(fileId), Body } });
      try {
        await upload.done();
      } catch (error) {
        // Where even that fails, the record leads the sweep to it.
        await remove(fileId).catch(() => undefined);
        // What came broke off, or else the store did.
        throw Body.errored ?? new FileStoreError(error);
      }
    },
    read,
    async copyTo(fileId, path) {
      await pipeline(read(fileId), createWriteStream(path));
    },
    remove,
    async claim(batch) {
      await unclaimedFiles.deleteMany({ batch });
      await earlier.claim(batch);
    },
    async unclaimedBefore(before, limit) {
      const found = await unclaimedFiles
        .find({ created_at: { $lt: before } })
        .limit(limit)
        .toArray();
      const unclaimed = found.map(({ _id, batch }) => ({ file_id: _id, batch }));
      // The others have their turn once these are gone.
      return unclaimed.length > 0 ? unclaimed : earlier.unclaimedBefore(before, limit);
    },
  };
}
