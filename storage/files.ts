import { createWriteStream } from 'node:fs';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { setTimeout as wait } from 'node:timers/promises';
import { GridFSBucket, type GridFSBucketWriteStream, type GridFSFile } from 'mongodb';
import type { Mongo } from './mongo.js';

interface FileMetadata {
  org: string;
  batch: string;
}

/** For pieces that are on their way to the database when an upload breaks off. */
const OUTSTANDING_PIECES_MS = 5_000;

export type Files = ReturnType<typeof createFiles>;

/** The file store, in GridFS: files come and go as streams and are never whole in memory. */
export function createFiles({ db }: Mongo) {
  // 1 MiB pieces: a quarter of the round trips of the default, still far below a document's limit.
  const bucket = new GridFSBucket(db, { bucketName: 'files', chunkSizeBytes: 1024 * 1024 });
  const records = db.collection<{ filename: string; uploadDate: Date; metadata: FileMetadata & { claimed?: boolean } }>(
    'files.files',
  );
  const find = (fileId: string): Promise<GridFSFile | null> => bucket.find({ filename: fileId }).next();
  return {
    /** A stream to write into; the file exists once it has finished, and nothing does after `abort()`. */
    write(fileId: string, metadata: FileMetadata): GridFSBucketWriteStream {
      return bucket.openUploadStream(fileId, { metadata });
    },

    /** What an interrupted upload has left behind. */
    async removePieces(upload: GridFSBucketWriteStream): Promise<void> {
      // A piece that is on its way to the database would otherwise arrive after the others have been removed.
      // The driver never counts down for one that has failed, so the wait has an end.
      const patience = Date.now() + OUTSTANDING_PIECES_MS;
      while (upload.state.outstandingRequests > 0 && Date.now() < patience) await wait(10);
      await db.collection('files.chunks').deleteMany({ files_id: upload.id });
    },

    /** @param range bytes to read, `end` not included */
    read(fileId: string, range?: { start: number; end: number }): Readable {
      return bucket.openDownloadStreamByName(fileId, range);
    },

    /** Copies a stored file to local disk, for parsers that need random access. */
    async copyTo(fileId: string, path: string): Promise<void> {
      await pipeline(bucket.openDownloadStreamByName(fileId), createWriteStream(path));
    },

    async remove(fileId: string): Promise<void> {
      const file = await find(fileId);
      if (file) await bucket.delete(file._id);
    },

    /** The files of this request belong to items now. */
    async claim(batch: string): Promise<void> {
      await records.updateMany({ 'metadata.batch': batch }, { $set: { 'metadata.claimed': true } });
    },

    /** Files of requests that never became items, because their process died in the middle. */
    async unclaimedBefore(before: Date, limit: number): Promise<{ file_id: string; batch: string }[]> {
      const found = await records
        .find({ 'metadata.claimed': { $ne: true }, uploadDate: { $lt: before } })
        .limit(limit)
        .toArray();
      return found.map((file) => ({ file_id: file.filename, batch: file.metadata.batch }));
    },
  };
}
