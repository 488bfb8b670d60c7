import Router from '@koa/router';
import type { z } from 'zod';
import { ingestFieldsSchema, ingestFormSchema, ingestTextsSchema } from '../../domain/content/ingest.js';
import { ServiceError } from '../../domain/errors.js';
import { newBatchId } from '../../domain/ids.js';
import type { DatabaseRecord, Databases } from '../../storage/content/databases.js';
import type { ExistingItem } from '../../storage/content/item-queue.js';
import { startOrDefer } from '../../temporal/workflow-starter.js';
import { contentOperations, DEPRECATED_NAMES } from '../content-operations.js';
import type { Dependencies } from '../dependencies.js';
import { renameFields } from '../field-names.js';
import type { FormFields, KnownFields } from '../form-fields.js';
import { respondOnce } from '../idempotency.js';
import { jsonBody } from '../json-body.js';
import { receiveForm } from '../receive-file.js';
import type { RequestContext, RequestState } from '../request-context.js';
import { read } from '../validation.js';
import { acceptIngest } from './ingest-accept.js';
import { type Draft, draftItems, draftTexts, rejectRepeatedIds } from './ingest-drafts.js';
import { checkMetadata, type IngestPlan } from './ingest-plan.js';
import { ingestResultSchema } from './item-responses.js';

const operation = contentOperations('Context');

const readJson = jsonBody();

/** A request that has arrived. */
interface ReceivedRequest {
  request: Pick<z.output<typeof ingestTextsSchema>, 'database' | 'collection' | 'upsert'>;
  /** Reads its items. @throws ServiceError VALIDATION_ERROR that names the invalid field */
  drafts(): Promise<Draft[]>;
}

const FORM_FIELDS: KnownFields = new Map<string, 'short' | 'long'>([
  ...[...Object.keys(ingestFormSchema.shape), ...Object.keys(DEPRECATED_NAMES)].map((name) => [name, 'short'] as const),
  ...['document_metadata', 'app_knowledge', 'memories'].map((name) => [name, 'long'] as const),
]);

/** `POST /context/ingest`: accepts a request as a whole, except for files that are rejected one by one. */
export function ingestRoutes(deps: Dependencies): Router<RequestState> {
  const router = new Router<RequestState>();
  router.post(
    '/context/ingest',
    operation(
      {
        summary: 'Ingest files, app knowledge and memories',
        description:
          'A form has files and texts; a JSON body of up to 1 MiB has texts only. ' +
          'A request is accepted or rejected as a whole, except for files that are rejected one by one (`error_code` in ' +
          'their result). Items are indexed in the background: get their status from `GET /context/status`, or register a ' +
          'webhook.',
        form: ingestFormSchema,
        body: ingestTextsSchema,
        example: { database: 'library', memories: [{ id: 'ada', text: 'Ada prefers the reading room.' }] },
        status: 202,
        response: ingestResultSchema,
        errors: ['DATABASE_NOT_FOUND', 'SOURCE_ALREADY_EXISTS', 'TENANT_INFRA_NOT_READY'],
        idempotencyKeys: deps.idempotencyKeys,
      },
      async (ctx, { respondWith }) => {
        const { org } = ctx.state.principal;
        const batch = newBatchId();
        await receiveRequest(ctx, batch, async ({ request, drafts }) => {
          const database = await requireReady(deps.databases, org, request.database);
          const items = await drafts();
          await checkDrafts(items, database, deps.limits.maxItems);
          const plan = await acceptIngest(deps, items, { ...request, database, batch }, (accepted, write) =>
            respondWith(responseFor(items, accepted), write),
          );
          await removeFiles(batch, plan.replacedFiles);
          if (!plan.grouped && plan.records.length > 0) {
            await startOrDefer(deps.log, 'ingest', { batch }, () =>
              deps.starters.startIngest({ org, batch }, plan.records, database.name),
            );
          }
          return plan.records.flatMap(({ source }) => (source.kind === 'file' ? [source.file_id] : []));
        });
      },
    ),
  );
  return router;

  /**
   * Receives a form with files and texts, or a JSON body with texts, and works on it once per `Idempotency-Key`.
   * @param work returns the ids of the files that belong to its items
   */
  async function receiveRequest(
    ctx: RequestContext,
    batch: string,
    work: (received: ReceivedRequest) => Promise<readonly string[]>,
  ): Promise<void> {
    if (ctx.is('json')) {
      await readJson(ctx, async () => undefined);
      const { body = {} } = ctx.request;
      const request = read(ingestTextsSchema, renameFields(body, DEPRECATED_NAMES));
      const drafts = async () => draftTexts(request);
      return respondOnce(
        ctx,
        deps.idempotencyKeys,
        () => [ctx.request.text ?? ''],
        () => work({ request, drafts }),
      );
    }
    await receiveForm(ctx, deps, FORM_FIELDS, batch, ({ fields, files }) => {
      const request = readRequest(fields);
      const options = { maxItems: deps.limits.maxItems, known: FORM_FIELDS };
      const drafts = () => draftItems(request, fields, files, options);
      return work({ request, drafts });
    });
  }

  /** Removes the files of replaced versions. The request is accepted even when this fails. */
  async function removeFiles(batch: string, replaced: readonly string[]): Promise<void> {
    try {
      await Promise.all(replaced.map((file) => deps.files.remove(file)));
    } catch (error) {
      deps.log.warn({ err: error, batch }, 'files of replaced versions not removed');
    }
  }
}

function readRequest(fields: FormFields): z.output<typeof ingestFieldsSchema> {
  const short = [...fields].filter(([name]) => FORM_FIELDS.get(name) === 'short');
  const values = Object.fromEntries(short.map(([name, value]) => [name, value.toString()]));
  return read(ingestFieldsSchema, renameFields(values, DEPRECATED_NAMES));
}

async function requireReady(databases: Databases, org: string, name: string): Promise<DatabaseRecord> {
  const database = await databases.requireForOrg(org, name);
  if (database.status === 'ready') return database;
  throw new ServiceError('TENANT_INFRA_NOT_READY', `The database "${name}" is not ready for ingestion yet.`);
}

/** @throws ServiceError when the request as a whole is invalid */
async function checkDrafts(drafts: readonly Draft[], database: DatabaseRecord, maxItems: number): Promise<void> {
  if (drafts.length === 0) {
    throw new ServiceError('INVALID_PARAMETERS', 'documents, app_knowledge or memories is required');
  }
  if (drafts.length > maxItems) {
    throw new ServiceError('VALIDATION_ERROR', `A request must not exceed ${maxItems} items.`);
  }
  rejectRepeatedIds(drafts);
  await checkMetadata(database, drafts);
}

function responseFor(drafts: readonly Draft[], { unchanged }: IngestPlan) {
  const unchangedById = new Map(unchanged.map((item) => [item.id, item]));
  const rejected = drafts.filter(({ content }) => !content).length;
  return {
    results: drafts.map((draft) => describeResult(draft, unchangedById.get(draft.id))),
    success_count: drafts.length - rejected,
    failed_count: rejected,
  };
}

function describeResult({ id, filename, error }: Draft, unchanged: ExistingItem | undefined) {
  return {
    id,
    ...(filename === undefined ? {} : { filename }),
    ...(unchanged ? { status: unchanged.indexing_status, unchanged: true as const } : { status: 'queued' as const }),
    ...(error && { status: 'errored' as const, error_code: error.code, error_message: error.message }),
  };
}
