import type { Collection } from 'mongodb';
import type { DatabaseClock } from '../clock.js';
import type { UploadRecord } from './uploads.js';

export type ExpiredUploads = ReturnType<typeof createExpiredUploads>;

/** Uploads of all organisations that the reconciler removes with their content. */
export function createExpiredUploads({ uploads, now }: { uploads: Collection<UploadRecord>; now: DatabaseClock }) {
  return {
    list(limit: number): Promise<UploadRecord[]> {
      return uploads
        .find({ expires_at: { $lt: now() } })
        .limit(limit)
        .toArray();
    },
  };
}
