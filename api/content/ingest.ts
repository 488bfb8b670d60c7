import Router from '@koa/router';
import type { Logger } from 'pino';
import { ServiceError } from '../../domain/errors.js';
import { newBatchId, newItemId } from '../../domain/ids.js';
import { ingestFieldsSchema, ingestFormSchema } from '../../domain/ingest.js';
import type { Databases } from '../../storage/databases.js';
import type { Files } from '../../storage/files.js';
import type { IdempotencyKeys } from '../../storage/idempotency-keys.js';
import type { Items } from '../../storage/items.js';
import type { ItemRecord } from '../../storage/records.js';
import type { Launcher } from '../../temporal/launcher.js';
import type { RequestState } from '../context.js';
import { answerOnce } from '../idempotency.js';
import { readMultipart, type UploadLimits } from '../multipart.js';
import { contentOf, type DetectKind, type FileReceipt, receiveFile } from '../receive-file.js';
import { read } from '../validation.js';
import { ingestResultSchema } from './answers.js';
import { contentOperations } from './document.js';
import { type Draft, draftItems, refuseRepeatedIds } from './ingest-drafts.js';

const operation = contentOperations('Context');

export interface IngestDependencies {
  databases: Databases;
  files: Files;
  idempotencyKeys: IdempotencyKeys;
  items: Items;
  launcher: Launcher;
  detectKind: DetectKind;
  limits: UploadLimits & { maxItems: number };
  log: Logger;
}

/** `POST /context/ingest`: all of a request is queued or nothing, but for files that are refused one by one. */
export function ingestRoutes(deps: IngestDependencies): Router<RequestState> {
  const router = new Router<RequestState>();
  router.post(
    '/context/ingest',
    operation(
      {
        summary: 'Ingest files, app knowledge and memories',
        description:
          'All of a request is queued or nothing, but for files that are refused one by one (`error_code` in their result). ' +
          'What becomes of the items is told by `GET /context/status` and by the webhook.',
        form: ingestFormSchema,
        status: 202,
        answers: ingestResultSchema,
        errors: ['DATABASE_NOT_FOUND', 'SOURCE_ALREADY_EXISTS', 'TENANT_INFRA_NOT_READY'],
        idempotencyKeys: deps.idempotencyKeys,
      },
      async (ctx, { answer }) => {
        const batch = newBatchId();
        const { org } = ctx.state.principal;
        const receipts: FileReceipt[] = [];
        /** What of the uploads belongs to no item; when it is unknown (a commit without an answer) the sweep finds out. */
        let orphans = () => receipts;
        try {
          const { fields, files } = await readMultipart(ctx.req, deps.limits, async (stream, filename) => {
            const receipt = await receiveFile(deps, stream, filename, { org, batch });
            receipts.push(receipt);
            return receipt;
          });
          await answerOnce(ctx, deps.idempotencyKeys, contentOf(fields, files), async () => {
            const request = read(ingestFieldsSchema, Object.fromEntries(fields));
            const database = await deps.databases.get(org, request.database);
            if (database.status !== 'ready') {
              throw new ServiceError(
                'TENANT_INFRA_NOT_READY',
                `The database "${database.name}" is not ready for ingestion yet.`,
              );
            }
            const drafts = draftItems(request.type, fields, files);
            if (drafts.length === 0)
              throw new ServiceError(
                'INVALID_PARAMETERS',
                'documents, app_knowledge or memories: one of them is required',
              );
            if (drafts.length > deps.limits.maxItems) {
              throw new ServiceError('VALIDATION_ERROR', `at most ${deps.limits.maxItems} items a request`);
            }
            refuseRepeatedIds(drafts);
            const { records, replacedFiles } = await asRecords(
              drafts,
              { org, tenant: database._id, database: database.name, collection: request.collection, batch },
              request.upsert,
            );
            answer({
              results: drafts.map(result),
              success_count: records.length,
              failed_count: drafts.length - records.length,
            });
            orphans = () => [];
            await deps.items.queue(records, ctx.state.keepAnswer).catch((error) => {
              if (error instanceof ServiceError) orphans = () => receipts;
              throw error;
            });
            orphans = () => receipts.filter((receipt) => receipt.refusal !== undefined);
            await tidy(batch, replacedFiles);
            await launch(org, batch, records.length, database.name);
          });
        } finally {
          await Promise.all(orphans().map((receipt) => deps.files.remove(receipt.file_id)));
        }
      },
    ),
  );
  return router;

  /** The request is accepted whatever comes of this: the sweep claims what is not claimed here. */
  async function tidy(batch: string, replacedFiles: readonly string[]): Promise<void> {
    try {
      await deps.files.claim(batch);
      await Promise.all(replacedFiles.map((file) => deps.files.remove(file)));
    } catch (error) {
      deps.log.warn({ err: error, batch }, 'files of an ingest not tidied up');
    }
  }

  /** The items are safe already: when Temporal is away the sweep starts them as soon as it is back. */
  async function launch(org: string, batch: string, count: number, database: string): Promise<void> {
    if (count === 0) return;
    try {
      await deps.launcher.startIngest({ org, batch }, count, database);
    } catch (error) {
      deps.log.warn({ err: error, batch }, 'ingest workflow not started; the sweep will start the items');
    }
  }

  async function asRecords(
    drafts: readonly Draft[],
    owner: Pick<ItemRecord, 'org' | 'tenant' | 'database' | 'collection' | 'batch'>,
    upsert: boolean,
  ): Promise<{ records: ItemRecord[]; replacedFiles: string[] }> {
    const wanted = drafts.flatMap((draft) => (draft.content ? [{ id: draft.id, content: draft.content }] : []));
    const existing = new Map(
      (
        await deps.items.existing(
          owner.tenant,
          wanted.map((draft) => draft.id),
        )
      ).map((item) => [item.id, item]),
    );
    if (existing.size > 0 && !upsert) {
      const [id] = existing.keys();
      throw new ServiceError(
        'SOURCE_ALREADY_EXISTS',
        `An item with the id "${id}" exists already; send upsert=true to replace it.`,
      );
    }
    const now = new Date();
    const replacedFiles = [...existing.values()].flatMap((item) => item.source.file_id ?? []);
    const records = wanted.map(({ id, content }): ItemRecord => {
      const before = existing.get(id);
      return {
        _id: before?._id ?? newItemId(),
        ...owner,
        id,
        version: (before?.version ?? 0) + 1,
        ...content,
        indexing_status: 'queued',
        error_code: null,
        error_message: null,
        check_at: now,
        created_at: before?.created_at ?? now,
        updated_at: now,
      };
    });
    return { records, replacedFiles };
  }
}

function result(draft: Draft) {
  return {
    id: draft.id,
    ...(draft.filename === undefined ? {} : { filename: draft.filename }),
    ...(draft.refusal
      ? { status: 'errored' as const, error_code: draft.refusal.code, error_message: draft.refusal.message }
      : { status: 'queued' as const }),
  };
}
