import type { ClientSession } from 'mongodb';
import { UNFINISHED_JOB_STATUSES } from '../../domain/ai-jobs/states.js';
import type { Access } from '../collections.js';
import { inTransaction } from '../transactions.js';

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
  /** When a job last named it. */
  used_at?: Date;
}

export type Uploads = ReturnType<typeof createUploads>;

/** Uploaded files, which AI jobs reference by id. Their content is in the file store under the same id. */
export function createUploads({
  uploads,
  aiJobs,
  mongoClient,
  now,
}: Access<'uploads' | 'aiJobs' | 'mongoClient' | 'now'>) {
  /** Whether a job in progress uses this upload. */
  async function isNeeded({ _id, org }: Pick<UploadRecord, '_id' | 'org'>, session?: ClientSession): Promise<boolean> {
    const needed = { file_id: _id, status: { $in: UNFINISHED_JOB_STATUSES } };
    return (await aiJobs.forOrg(org).findOne(needed, { session, projection: { _id: 1 } })) !== null;
  }

  return {
    isNeeded,

    async add(upload: UploadRecord, tx?: ClientSession): Promise<void> {
      await uploads.forOrg(upload.org).insertOne(upload, { session: tx });
    },

    /** @returns null when the upload is unknown, another organisation's, or expired */
    findForOrg(org: string, fileId: string): Promise<UploadRecord | null> {
      return uploads.forOrg(org).findOne({ _id: fileId, expires_at: { $gt: now() } });
    },

    /** @returns an upload that may have expired; null once it was removed */
    getById(org: string, fileId: string): Promise<UploadRecord | null> {
      return uploads.forOrg(org).findOne({ _id: fileId });
    },

    /** Changes when the upload expires. */
    async keepUntil({ _id, org }: Pick<UploadRecord, '_id' | 'org'>, until: Date): Promise<void> {
      await uploads.forOrg(org).updateOne({ _id }, { $set: { expires_at: until } });
    },

    /**
     * Ends an upload that no job in progress needs: no job can use it any more, and its content can be removed. A crash
     * before that leaves an expired upload, which the reconciler removes.
     * @returns `unknown` also for another organisation's upload, and an expired one
     */
    discard(org: string, fileId: string): Promise<'discarded' | 'needed' | 'unknown'> {
      return inTransaction(mongoClient, async (tx) => {
        const current = { _id: fileId, expires_at: { $gt: now() } };
        if (!(await uploads.forOrg(org).findOne(current, { session: tx, projection: { _id: 1 } }))) return 'unknown';
        if (await isNeeded({ _id: fileId, org }, tx)) return 'needed';
        // Jobs that are added at the same time write this record too, so one of the transactions is repeated.
        await uploads.forOrg(org).updateOne({ _id: fileId }, { $set: { expires_at: new Date(0) } }, { session: tx });
        return 'discarded';
      });
    },

    async remove({ _id, org }: Pick<UploadRecord, '_id' | 'org'>): Promise<void> {
      await uploads.forOrg(org).deleteOne({ _id });
    },
  };
}
