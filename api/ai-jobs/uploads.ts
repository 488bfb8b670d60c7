import Router from '@koa/router';
import { z } from 'zod';
import { ServiceError } from '../../domain/errors.js';
import { newFileId } from '../../domain/ids.js';
import type { UploadRecord, Uploads } from '../../storage/ai-jobs/uploads.js';
import type { Dependencies } from '../dependencies.js';
import { type KnownFields, rejectUnknownFields } from '../form-fields.js';
import type { UploadedFile } from '../multipart.js';
import { pickFields } from '../pick-fields.js';
import { type FileReceipt, receiveForm } from '../receive-file.js';
import type { RequestState } from '../request-context.js';
import { sendContent } from '../send-content.js';
import { aiJobOperation } from './document.js';
import { deletedUploadSchema, uploadedSchema } from './responses.js';

/** An upload is files only. */
const NO_FIELDS: KnownFields = new Map();

/** `/v3/upload`: files that jobs can name by their ids until they expire. */
export function uploadRoutes(deps: Dependencies): Router<RequestState> {
  const router = new Router<RequestState>();
  const { files, idempotencyKeys } = deps;
  const receiving = {
    files,
    idempotencyKeys,
    detectKind: deps.describeFile,
    limits: { ...deps.limits, maxFiles: 1 },
  };

  router.post(
    '/v3/upload',
    aiJobOperation(
      {
        summary: 'Upload a file for jobs',
        form: z.object({ file: z.file().min(1) }),
        status: 201,
        response: uploadedSchema,
        idempotencyKeys: deps.idempotencyKeys,
      },
      async (ctx, { org, respondWith }) => {
        const batch = newFileId();
        await receiveForm(ctx, receiving, NO_FIELDS, batch, async ({ fields, files }) => {
          rejectUnknownFields(fields, NO_FIELDS);
          const upload = newUpload(org, files, deps.now(), deps.uploadRetentionMs);
          await respondWith(describeUpload(upload), (tx) => add(upload, tx));
          return [upload._id];
        });
      },
    ),
  );

  router.get(
    '/v3/upload/:file_id',
    aiJobOperation(
      { summary: 'Get an upload', response: uploadedSchema, errors: ['FILE_NOT_FOUND'] },
      async (ctx, { org, respond }) => {
        respond(describeUpload(await requireUpload(org, ctx.params.file_id!)));
      },
    ),
  );

  router.get(
    '/v3/upload/:file_id/content',
    aiJobOperation(
      {
        summary: 'Download an upload',
        description: 'Byte for byte as it was sent, until it expires. Supports `Range` and `If-Range`.',
        alternativeStatus: 206,
        // The media type of the file.
        type: '*/*',
        response: z.string().meta({ format: 'binary' }),
        errors: ['FILE_NOT_FOUND', 'RANGE_NOT_SATISFIABLE'],
      },
      async (ctx, { org }) => {
        const file_id = ctx.params.file_id!;
        const { filename, mime_type: type, size } = await requireUpload(org, file_id);
        const read = (start: number, end: number) => deps.files.read(file_id, { start, end });
        await sendContent(ctx, { filename, type, size, read }, `"${file_id}"`);
      },
    ),
  );

  router.delete(
    '/v3/upload/:file_id',
    aiJobOperation(
      {
        summary: 'Delete an upload',
        description: 'At once, unless a job in progress needs it.',
        response: deletedUploadSchema,
        errors: ['FILE_NOT_FOUND', 'FILE_IN_USE'],
      },
      async (ctx, { org, respond }) => {
        const file_id = ctx.params.file_id!;
        const outcome = await deps.uploads.discard(org, file_id);
        if (outcome === 'unknown') throw notFound(file_id);
        if (outcome === 'needed') {
          throw new ServiceError(
            'FILE_IN_USE',
            'A job in progress needs this file. Cancel the job, or wait for its end.',
          );
        }
        await deps.files.remove(file_id);
        await deps.uploads.remove({ _id: file_id, org });
        respond({ file_id, deleted: true });
      },
    ),
  );

  return router;

  async function requireUpload(org: string, fileId: string): Promise<UploadRecord> {
    const upload = await deps.uploads.findForOrg(org, fileId);
    if (!upload) throw notFound(fileId);
    return upload;
  }

  function add(upload: UploadRecord, tx: Parameters<Uploads['add']>[1]): Promise<void> {
    const use = { uploads: 1, stored_bytes: upload.size };
    return deps.quotas.admit(upload.org, use, (session) => deps.uploads.add(upload, session), tx);
  }
}

/** @throws ServiceError when the form has no file, or an unsupported one */
function newUpload(
  org: string,
  files: UploadedFile<FileReceipt<string>>[],
  created_at: Date,
  retentionMs: number,
): UploadRecord {
  const misplaced = files.find(({ field }) => field !== 'file');
  if (misplaced) throw new ServiceError('VALIDATION_ERROR', `${misplaced.field}: is not known; did you mean "file"?`);
  const [file] = files;
  if (!file) throw new ServiceError('INVALID_PARAMETERS', 'file: is required');
  const { file_id, size, detected, error } = file.stored;
  if (!detected) throw new ServiceError('VALIDATION_ERROR', `file: ${error!.message}`);
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

const describeUpload = (upload: UploadRecord) => pickFields(uploadedSchema, { ...upload, file_id: upload._id });

function notFound(fileId: string): ServiceError {
  return new ServiceError('FILE_NOT_FOUND', `There is no file "${fileId}", or it has expired.`);
}
