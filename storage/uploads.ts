import type { Mongo } from './mongo.js';
import type { UploadRecord } from './records/uploads.js';

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

    /** @returns null when its content has been removed */
    get(fileId: string): Promise<UploadRecord | null> {
      return uploads.findOne({ _id: fileId });
    },

    async keepUntil(fileId: string, until: Date): Promise<void> {
      await uploads.updateOne({ _id: fileId }, { $set: { expires_at: until } });
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
