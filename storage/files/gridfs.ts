import { createWriteStream } from 'node:fs';
import { pipeline } from 'node:stream/promises';
import { setTimeout as wait } from 'node:timers/promises';
import { type Db, GridFSBucket, type GridFSBucketWriteStream, type GridFSFile } from 'mongodb';
import type { FileOwner, FileStore } from '../../domain/file-store.js';

/** How long to wait for chunks that are being written when an upload fails. */
const PENDING_CHUNKS_MS = 5_000;

/** The file store in MongoDB. */
export function createGridFsFiles({ db }: { db: Db }): FileStore {
  // Chunks of 1 MiB: a quarter of the default's round trips, and well below the size limit of a document.
  const bucket = new GridFSBucket(db, { bucketName: 'files', chunkSizeBytes: 1024 * 1024 });
  const records = db.collection<{ filename: string; uploadDate: Date; metadata: FileOwner & { claimed?: boolean } }>(
    'files.files',
  );
  const find = (fileId: string): Promise<GridFSFile | null> => bucket.find({ filename: fileId }).next();

  /** Removes the chunks of an interrupted upload. */
  async function removeChunks(upload: GridFSBucketWriteStream): Promise<void> {
    // A chunk that is still being written would arrive after the others are removed. The wait is limited, because the
    // driver never counts a failed chunk as finished.
    const deadline = Date.now() + PENDING_CHUNKS_MS;
    while (upload.state.outstandingRequests > 0 && Date.now() < deadline) await wait(10);
    await db.collection('files.chunks').deleteMany({ files_id: upload.id });
  }

  return {
    async write(fileId, { org, batch }, content) {
      const upload = bucket.openUploadStream(fileId, { metadata: { org, batch } });
      try {
        await pipeline(content, upload);
      } catch (error) {
        await removeChunks(upload);
        throw error;
      }
    },
    read: (fileId, range) => bucket.openDownloadStreamByName(fileId, range),
    async copyTo(fileId, path) {
      await pipeline(bucket.openDownloadStreamByName(fileId), createWriteStream(path));
    },
    async remove(fileId) {
      const file = await find(fileId);
      if (!file) return;
      // `bucket.delete` fails when another process has removed the file in between.
      await records.deleteOne({ _id: file._id });
      await db.collection('files.chunks').deleteMany({ files_id: file._id });
    },
    async claim({ org, batch }) {
      await records.updateMany(
        { 'metadata.org': org, 'metadata.batch': batch },
        { $set: { 'metadata.claimed': true } },
      );
    },
    async unclaimedBefore(before, limit) {
      const found = await records
        .find({ 'metadata.claimed': { $ne: true }, uploadDate: { $lt: before } })
        .limit(limit)
        .toArray();
      return found.map((file) => ({
        file_id: file.filename,
        org: file.metadata.org,
        batch: file.metadata.batch,
      }));
    },
  };
}
