import { createWriteStream } from 'node:fs';
import { pipeline } from 'node:stream/promises';
import { setTimeout as wait } from 'node:timers/promises';
import { type Db, GridFSBucket, type GridFSBucketWriteStream, type GridFSFile } from 'mongodb';
import type { FileOwner, FileStore } from '../../domain/file-store.js';

/** For pieces that are on their way to the database when an upload breaks off. */
const OUTSTANDING_PIECES_MS = 5_000;

export function createGridFsFiles({ db }: { db: Db }): FileStore {
  // 1 MiB pieces: a quarter of the round trips of the default, still far below a document's limit.
  const bucket = new GridFSBucket(db, { bucketName: 'files', chunkSizeBytes: 1024 * 1024 });
  const records = db.collection<{ filename: string; uploadDate: Date; metadata: FileOwner & { claimed?: boolean } }>(
    'files.files',
  );
  const find = (fileId: string): Promise<GridFSFile | null> => bucket.find({ filename: fileId }).next();

  /** What an interrupted upload has left behind. */
  async function removePieces(upload: GridFSBucketWriteStream): Promise<void> {
    // A piece that is on its way to the database would otherwise arrive after the others have been removed.
    // The driver never counts down for one that has failed, so the wait has an end.
    const patience = Date.now() + OUTSTANDING_PIECES_MS;
    while (upload.state.outstandingRequests > 0 && Date.now() < patience) await wait(10);
    await db.collection('files.chunks').deleteMany({ files_id: upload.id });
  }

  return {
    async write(fileId, { org, batch }, content) {
      const upload = bucket.openUploadStream(fileId, { metadata: { org, batch } });
      try {
        await pipeline(content, upload);
      } catch (error) {
        await removePieces(upload);
        throw error;
      }
    },
    read: (fileId, range) => bucket.openDownloadStreamByName(fileId, range),
    async copyTo(fileId, path) {
      await pipeline(bucket.openDownloadStreamByName(fileId), createWriteStream(path));
    },
    async remove(fileId) {
      const file = await find(fileId);
      if (file) await bucket.delete(file._id);
    },
    async claim(batch) {
      await records.updateMany({ 'metadata.batch': batch }, { $set: { 'metadata.claimed': true } });
    },
    async unclaimedBefore(before, limit) {
      const found = await records
        .find({ 'metadata.claimed': { $ne: true }, uploadDate: { $lt: before } })
        .limit(limit)
        .toArray();
      return found.map((file) => ({ file_id: file.filename, batch: file.metadata.batch }));
    },
  };
}
