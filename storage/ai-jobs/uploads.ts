import type { ClientSession, Collection } from 'mongodb';

export interface UploadRecord {
  /** `fil_…`, also the name of its content in the file store. */
  _id: string;
  org: string;
  filename: string;
  /** Bytes. */
  size: number;
  mime_type: string;
  created_at: Date;
  expires_at: Date;
}

export type Uploads = ReturnType<typeof createUploads>;

/** Uploaded files, which AI jobs reference by id. Their content is in the file store under the same id. */
export function createUploads({ uploads }: { uploads: Collection<UploadRecord> }) {
  return {
    async add(upload: UploadRecord, tx?: ClientSession): Promise<void> {
      await uploads.insertOne(upload, { session: tx });
    },

    /** @returns null when the upload is unknown, another organisation's, or expired */
    findForOrg(org: string, fileId: string): Promise<UploadRecord | null> {
      return uploads.findOne({ _id: fileId, org, expires_at: { $gt: new Date() } });
    },

    /** @returns an upload that may have expired; null once it was removed */
    getById(fileId: string): Promise<UploadRecord | null> {
      return uploads.findOne({ _id: fileId });
    },

    /** Changes when the upload expires. */
    async keepUntil(fileId: string, until: Date): Promise<void> {
      await uploads.updateOne({ _id: fileId }, { $set: { expires_at: until } });
    },

    /** @returns uploads to remove, with their content */
    listExpired(limit: number): Promise<UploadRecord[]> {
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
