import Router from '@koa/router';
import { z } from 'zod';
import { ServiceError } from '../../domain/errors.js';
import type { FileStore } from '../../domain/file-store.js';
import { newFileId } from '../../domain/ids.js';
import type { UploadRecord, Uploads } from '../../storage/ai-jobs/uploads.js';
import { readMultipart, type UploadedFile, type UploadLimits } from '../multipart.js';
import { type DetectKind, type FileReceipt, receiveFile } from '../receive-file.js';
import type { RequestState } from '../request-context.js';
import { aiJobOperation } from './document.js';
import { uploadedSchema } from './responses.js';

export interface UploadDependencies {
  files: FileStore;
  uploads: Uploads;
  describeFile: DetectKind<string>;
  limits: UploadLimits;
  /** Milliseconds for which jobs may name an upload. */
  uploadRetentionMs: number;
}

/** `POST /v3/upload`: a file for jobs to name by its id, for a day or so. */
export function uploadRoutes(deps: UploadDependencies): Router<RequestState> {
  const router = new Router<RequestState>();
  router.post(
    '/v3/upload',
    aiJobOperation(
      {
        summary: 'Upload a file for jobs to name',
        form: z.object({ file: z.file() }),
        status: 201,
        response: uploadedSchema,
      },
      async (ctx, { respond }) => {
        const { org } = ctx.state.principal;
        const batch = newFileId();
        const receipts: FileReceipt<string>[] = [];
        let kept: string | undefined;
        try {
          const { files } = await readMultipart(ctx.req, { ...deps.limits, maxFiles: 1 }, async (stream, filename) => {
            const store = { files: deps.files, detectKind: deps.describeFile };
            const receipt = await receiveFile(store, stream, filename, { org, batch });
            receipts.push(receipt);
            return receipt;
          });
          const upload = asRecord(org, files, deps.uploadRetentionMs);
          await deps.uploads.add(upload);
          kept = upload._id;
          await deps.files.claim(batch);
          const { filename, size, mime_type, expires_at } = upload;
          respond({ file_id: kept, filename, size, mime_type, expires_at: expires_at.toISOString() });
        } finally {
          const left = receipts.filter(({ file_id }) => file_id !== kept);
          await Promise.all(left.map(({ file_id }) => deps.files.remove(file_id)));
        }
      },
    ),
  );
  return router;
}

function asRecord(org: string, files: UploadedFile<FileReceipt<string>>[], retentionMs: number): UploadRecord {
  const file = files.find(({ field }) => field === 'file');
  if (!file) throw new ServiceError('INVALID_PARAMETERS', 'file: is required');
  const { file_id, size, detected, refusal } = file.stored;
  if (!detected) throw new ServiceError('VALIDATION_ERROR', `file: ${refusal!.message}`);
  const created_at = new Date();
  return {
    _id: file_id,
    org,
    filename: file.filename,
    size,
    mime_type: detected.mime_type,
    created_at,
    expires_at: new Date(created_at.getTime() + retentionMs),
  };
}
