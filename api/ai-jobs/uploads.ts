import Router from '@koa/router';
import { z } from 'zod';
import { ServiceError } from '../../domain/errors.js';
import type { DetectKind } from '../../domain/extraction.js';
import type { FileStore } from '../../domain/file-store.js';
import { newFileId } from '../../domain/ids.js';
import type { UploadRecord, Uploads } from '../../storage/ai-jobs/uploads.js';
import type { Quotas } from '../../storage/quotas.js';
import { readMultipart, type UploadedFile, type UploadLimits } from '../multipart.js';
import { type FileReceipt, receiveFiles } from '../receive-file.js';
import type { RequestState } from '../request-context.js';
import { aiJobOperation } from './document.js';
import { uploadedSchema } from './responses.js';

export interface UploadDependencies {
  files: FileStore;
  uploads: Uploads;
  quotas: Quotas;
  describeFile: DetectKind<string>;
  limits: UploadLimits;
  /** Milliseconds for which jobs can use an upload. */
  uploadRetentionMs: number;
}

/** `POST /v3/upload`: a file that jobs can name by its id until it expires. */
export function uploadRoutes(deps: UploadDependencies): Router<RequestState> {
  const router = new Router<RequestState>();
  const receiving = { files: deps.files, detectKind: deps.describeFile };
  const limits = { ...deps.limits, maxFiles: 1 };

  router.post(
    '/v3/upload',
    aiJobOperation(
      {
        summary: 'Upload a file for jobs',
        form: z.object({ file: z.file() }),
        status: 201,
        response: uploadedSchema,
        errors: ['QUOTA_EXCEEDED'],
      },
      async (ctx, { respond }) => {
        const { org } = ctx.state.principal;
        const batch = newFileId();
        await receiveFiles(receiving, { org, batch }, async (received) => {
          const { files } = await readMultipart(ctx.req, limits, received.receive, ctx.state.holdBody);
          const upload = newUpload(org, files, deps.uploadRetentionMs);
          await deps.quotas.admit(org, { uploads: 1, stored_bytes: upload.size }, (tx) => deps.uploads.add(upload, tx));
          received.kept = new Set([upload._id]);
          await deps.files.claim(batch);
          const { _id: file_id, filename, size, mime_type, expires_at } = upload;
          respond({ file_id, filename, size, mime_type, expires_at: expires_at.toISOString() });
        });
      },
    ),
  );

  return router;
}

/** @throws ServiceError when the form has no file, or an unsupported one */
function newUpload(org: string, files: UploadedFile<FileReceipt<string>>[], retentionMs: number): UploadRecord {
  const file = files.find(({ field }) => field === 'file');
  if (!file) throw new ServiceError('INVALID_PARAMETERS', 'file: is required');
  const { file_id, size, detected, error } = file.stored;
  if (!detected) throw new ServiceError('VALIDATION_ERROR', `file: ${error!.message}`);
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
