import type { Mongo } from './mongo.js';
import type { UploadRecord } from './records.js';

export type Uploads = ReturnType<typeof createUploads>;

/** Files that AI jobs name by id; the content is in the file store under the same id. */
export function createUploads({ uploads }: Mongo) {
  return {
    async add(upload: UploadRecord): Promise<void> {
      await uploads.insertOne(upload);
    },

    /** @returns null for one that is unknown, another organisation's, or expired */
    find(org: string, fileId: string): Promise<UploadRecord | null> {
      return uploads.findOne({ _id: fileId, org, expires_at: { $gt: new Date() } });
    },

    /** A job was made that needs it until then. @returns null as `find` does */
    keepUntil(org: string, fileId: string, until: Date): Promise<UploadRecord | null> {
      return uploads.findOneAndUpdate(
        { _id: fileId, org, expires_at: { $gt: new Date() } },
        { $max: { expires_at: until } },
        { returnDocument: 'after' },
      );
    },

    expired(limit: number): Promise<UploadRecord[]> {
      return uploads
        .find({ expires_at: { $lt: new Date() } })
        .limit(limit)
        .toArray();
    },

    async remove(fileId: string): Promise<void> {
      await uploads.deleteOne({ _id: fileId });
    },
  };
}
