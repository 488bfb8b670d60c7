import Router from '@koa/router';
import type { Logger } from 'pino';
import { ServiceError } from '../domain/errors.js';
import type { ExtractionError } from '../domain/extraction.js';
import { newBatchId, newItemId } from '../domain/ids.js';
import {
  appKnowledgeSchema,
  conversationText,
  type DocumentMetadata,
  documentMetadataSchema,
  ingestFieldsSchema,
  memoriesSchema,
} from '../domain/ingest.js';
import type { Databases } from '../storage/databases.js';
import type { Files } from '../storage/files.js';
import type { Items } from '../storage/items.js';
import type { ItemRecord } from '../storage/records.js';
import type { Launcher } from '../temporal/launcher.js';
import type { RequestState } from './context.js';
import { answer } from './envelope.js';
import { readMultipart, type UploadedFile, type UploadLimits } from './multipart.js';
import { type FileReceipt, receiveFile } from './receive-file.js';
import { read } from './validation.js';

export interface IngestDependencies {
  databases: Databases;
  files: Files;
  items: Items;
  launcher: Launcher;
  detectKind: Parameters<typeof receiveFile>[0]['detectKind'];
  limits: UploadLimits & { maxItems: number };
  log: Logger;
}

/** An item of the request: queued, or refused before anything is queued. */
interface Draft {
  id: string;
  filename?: string;
  refusal?: ExtractionError;
  content?: Pick<ItemRecord, 'type' | 'title' | 'source' | 'metadata' | 'additional_metadata'>;
}

/** `POST /context/ingest`: all of a request is queued or nothing, but for files that are refused one by one. */
export function ingestRoutes(deps: IngestDependencies): Router<RequestState> {
  const router = new Router<RequestState>();
  router.post('/context/ingest', async (ctx) => {
    const batch = newBatchId();
    const { org } = ctx.state.principal;
    const receipts: FileReceipt[] = [];
    let queued = false;
    try {
      const { fields, files } = await readMultipart(ctx.req, deps.limits, async (stream, filename) => {
        const receipt = await receiveFile(deps, stream, filename, { org, batch });
        receipts.push(receipt);
        return receipt;
      });
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
        throw new ServiceError('INVALID_PARAMETERS', 'documents, app_knowledge or memories: one of them is required');
      if (drafts.length > deps.limits.maxItems) {
        throw new ServiceError('VALIDATION_ERROR', `at most ${deps.limits.maxItems} items a request`);
      }
      refuseRepeatedIds(drafts);
      const records = await asRecords(
        drafts,
        { org, tenant: database._id, database: database.name, collection: request.collection, batch },
        request.upsert,
      );
      await deps.items.queue(records);
      queued = true;
      await deps.files.claim(batch);
      await launch(org, batch, records.length, database.name);
      answer(ctx, 202, {
        results: drafts.map(result),
        success_count: records.length,
        failed_count: drafts.length - records.length,
      });
    } finally {
      const orphans = receipts.filter((receipt) => !queued || receipt.refusal !== undefined);
      await Promise.all(orphans.map((receipt) => deps.files.remove(receipt.file_id)));
    }
  });
  return router;

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
  ): Promise<ItemRecord[]> {
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
    return wanted.map(({ id, content }) => {
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
        created_at: before?.created_at ?? now,
        updated_at: now,
      };
    });
  }
}

function draftItems(
  type: ItemRecord['type'],
  fields: ReadonlyMap<string, string>,
  files: readonly UploadedFile<FileReceipt>[],
): Draft[] {
  const stray = files.find((file) => file.field !== 'documents');
  if (stray)
    throw new ServiceError(
      'VALIDATION_ERROR',
      `${stray.field}: files are sent as "documents", other fields as JSON text`,
    );
  const metadata = fields.has('document_metadata')
    ? read(documentMetadataSchema, parseField(fields, 'document_metadata'))
    : null;
  if (metadata && metadata.length !== files.length) {
    throw new ServiceError(
      'VALIDATION_ERROR',
      `document_metadata: has ${metadata.length} entries for ${files.length} documents`,
    );
  }
  const knowledge = fields.has('app_knowledge') ? readField(appKnowledgeSchema, fields, 'app_knowledge') : [];
  const memories = fields.has('memories') ? readField(memoriesSchema, fields, 'memories') : [];
  return [
    ...files.map((file, n) => draftFile(type, file, metadata?.[n])),
    ...knowledge.map(({ id, title, text, content, url, source, metadata: typed, additional_metadata }) => ({
      id: id ?? newItemId(),
      content: {
        type: 'knowledge' as const,
        title: title ?? null,
        source: { kind: 'text' as const, text: (text ?? content)! },
        metadata: typed,
        additional_metadata: {
          ...additional_metadata,
          ...(url === undefined ? {} : { url }),
          ...(source === undefined ? {} : { source }),
        },
      },
    })),
    ...memories.map((memory) => ({
      id: memory.id ?? newItemId(),
      content: {
        type: 'memory' as const,
        title: memory.title ?? null,
        source: {
          kind: 'text' as const,
          text: memory.text?.trim() ? memory.text : conversationText(memory.user_assistant_pairs!),
        },
        metadata: memory.metadata,
        additional_metadata: memory.additional_metadata,
      },
    })),
  ];
}

function draftFile(
  type: ItemRecord['type'],
  file: UploadedFile<FileReceipt>,
  metadata: DocumentMetadata | undefined,
): Draft {
  const { file_id, size, detected, refusal } = file.stored;
  const draft: Draft = { id: metadata?.id ?? newItemId(), filename: file.filename };
  if (refusal || !detected) return { ...draft, refusal };
  return {
    ...draft,
    content: {
      type,
      title: null,
      source: {
        kind: 'file',
        file_id,
        filename: file.filename,
        file_kind: detected.kind,
        mime_type: detected.mime_type,
        size,
      },
      metadata: metadata?.metadata ?? {},
      additional_metadata: metadata?.additional_metadata ?? {},
    },
  };
}

function result(draft: Draft) {
  return {
    id: draft.id,
    ...(draft.filename === undefined ? {} : { filename: draft.filename }),
    ...(draft.refusal
      ? { status: 'errored', error_code: draft.refusal.code, error_message: draft.refusal.message }
      : { status: 'queued' }),
  };
}

function refuseRepeatedIds(drafts: readonly Draft[]): void {
  const seen = new Set<string>();
  for (const { id } of drafts) {
    if (seen.has(id)) throw new ServiceError('VALIDATION_ERROR', `The id "${id}" is given twice in this request.`);
    seen.add(id);
  }
}

/** `document_metadata`, `app_knowledge` and `memories` are JSON arrays, sent as text. */
function parseField(fields: ReadonlyMap<string, string>, name: string): unknown {
  try {
    return JSON.parse(fields.get(name)!);
  } catch {
    throw new ServiceError('VALIDATION_ERROR', `${name}: must be an array as JSON text`);
  }
}

function readField<Schema extends Parameters<typeof read>[0]>(
  schema: Schema,
  fields: ReadonlyMap<string, string>,
  name: string,
) {
  try {
    return read(schema, parseField(fields, name));
  } catch (error) {
    // Inside a stringified field nothing is a missing parameter of the request: all of it is 422, and named in full.
    if (error instanceof ServiceError && !error.message.startsWith(`${name}:`)) {
      throw new ServiceError('VALIDATION_ERROR', `${name}.${error.message}`);
    }
    throw error;
  }
}
