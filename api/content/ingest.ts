import Router from '@koa/router';
import { ingestFieldsSchema, ingestFormSchema } from '../../domain/content/ingest.js';
import { ServiceError } from '../../domain/errors.js';
import type { FileStore } from '../../domain/file-store.js';
import { newBatchId } from '../../domain/ids.js';
import type { DatabaseRecord, Databases } from '../../storage/content/databases.js';
import type { ExistingItem } from '../../storage/content/items.js';
import type { IdempotencyKeys } from '../../storage/idempotency-keys.js';
import type { ContentStarters } from '../../temporal/content/starters.js';
import { startOrDefer } from '../../temporal/workflow-starter.js';
import { contentOperations, DEPRECATED_NAMES } from '../content-operations.js';
import { respondOnce } from '../idempotency.js';
import { readMultipart, type UploadLimits } from '../multipart.js';
import { renamed } from '../operation.js';
import { contentOf, type DetectKind, type FileReceipt, receiveFile } from '../receive-file.js';
import type { RequestState } from '../request-context.js';
import { read } from '../validation.js';
import { type AcceptDependencies, acceptIngest, type CommitIngest } from './ingest-accept.js';
import { type Draft, draftItems, refuseRepeatedIds } from './ingest-drafts.js';
import { checkMetadata, type IngestPlan } from './ingest-plan.js';
import { ingestResultSchema } from './item-responses.js';

const operation = contentOperations('Context');

export interface IngestDependencies extends AcceptDependencies {
  starters: AcceptDependencies['starters'] & ContentStarters;
  databases: Databases;
  files: FileStore;
  idempotencyKeys: IdempotencyKeys;
  detectKind: DetectKind;
  limits: UploadLimits & { maxItems: number };
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
        response: ingestResultSchema,
        errors: ['DATABASE_NOT_FOUND', 'SOURCE_ALREADY_EXISTS', 'TENANT_INFRA_NOT_READY'],
        idempotencyKeys: deps.idempotencyKeys,
      },
      async (ctx, { respondWith }) => {
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
          await respondOnce(ctx, deps.idempotencyKeys, contentOf(fields, files), async () => {
            const request = read(ingestFieldsSchema, renamed(Object.fromEntries(fields), DEPRECATED_NAMES));
            const database = await openDatabase(org, request.database);
            const drafts = draftItems(request.type, fields, files);
            refuseCount(drafts);
            refuseRepeatedIds(drafts);
            checkMetadata(database, drafts);
            const commit: CommitIngest = (found, write) =>
              respondWith(responseFor(drafts, found), async (tx) => {
                // While the commit is under way nobody knows whose the files are.
                orphans = () => [];
                await write(tx);
              });
            const plan = await acceptIngest(deps, drafts, { ...request, database, batch }, commit).catch((error) => {
              if (error instanceof ServiceError) orphans = () => receipts;
              throw error;
            });
            const kept = new Set(plan.records.map(({ source }) => (source.kind === 'file' ? source.file_id : '')));
            orphans = () => receipts.filter(({ file_id }) => !kept.has(file_id));
            await tidy(batch, plan.replacedFiles);
            const count = plan.records.length;
            if (count === 0) return;
            await startOrDefer(deps.log, 'ingest', { batch }, () =>
              deps.starters.startIngest({ org, batch }, count, database.name),
            );
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

  async function openDatabase(org: string, name: string): Promise<DatabaseRecord> {
    const database = await deps.databases.requireForOrg(org, name);
    if (database.status === 'ready') return database;
    throw new ServiceError('TENANT_INFRA_NOT_READY', `The database "${name}" is not ready for ingestion yet.`);
  }

  function refuseCount(drafts: readonly Draft[]): void {
    if (drafts.length === 0) {
      throw new ServiceError('INVALID_PARAMETERS', 'documents, app_knowledge or memories: one of them is required');
    }
    if (drafts.length > deps.limits.maxItems) {
      throw new ServiceError('VALIDATION_ERROR', `at most ${deps.limits.maxItems} items a request`);
    }
  }
}

function responseFor(drafts: readonly Draft[], { unchanged }: IngestPlan) {
  const same = new Map(unchanged.map((item) => [item.id, item]));
  const refused = drafts.filter(({ content }) => !content).length;
  return {
    results: drafts.map((draft) => result(draft, same.get(draft.id))),
    success_count: drafts.length - refused,
    failed_count: refused,
  };
}

function result(draft: Draft, unchanged: ExistingItem | undefined) {
  const { id, filename, refusal } = draft;
  return {
    id,
    ...(filename === undefined ? {} : { filename }),
    ...(unchanged ? { status: unchanged.indexing_status, unchanged: true as const } : { status: 'queued' as const }),
    ...(refusal && { status: 'errored' as const, error_code: refusal.code, error_message: refusal.message }),
  };
}
