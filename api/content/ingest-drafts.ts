import {
  appKnowledgeSchema,
  type DocumentMetadata,
  documentMetadataSchema,
  memoriesSchema,
  wholeText,
} from '../../domain/content/ingest.js';
import { ServiceError } from '../../domain/errors.js';
import type { ExtractionError } from '../../domain/extraction.js';
import { newItemId } from '../../domain/ids.js';
import type { ItemRecord } from '../../storage/content/items.js';
import type { UploadedFile } from '../multipart.js';
import type { FileReceipt } from '../receive-file.js';
import { read } from '../validation.js';

/** An item of the request: queued, or refused before anything is queued. */
export interface Draft {
  id: string;
  /** Where it stands in the request, such as `memories.0`. */
  field: string;
  /** Of a file's bytes, hex. */
  sha256?: string;
  filename?: string;
  refusal?: ExtractionError;
  content?: Pick<ItemRecord, 'type' | 'title' | 'source' | 'metadata' | 'additional_metadata'>;
}

/**
 * Reads the items of an ingest request out of its files and stringified fields, in the order sent.
 * @throws ServiceError VALIDATION_ERROR that names what cannot be read as stated; then nothing of the request counts
 */
export function draftItems(
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
  if (fields.has('documents'))
    throw new ServiceError('VALIDATION_ERROR', 'documents: must be files, with a file name each');
  refuseBrackets(fields);
  const metadata = fields.has('document_metadata')
    ? readField(documentMetadataSchema, fields, 'document_metadata')
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
    ...files.map((file, n) => draftFile(type, file, n, metadata?.[n])),
    ...knowledge.map(({ url, source, additional_metadata, ...item }, n) =>
      draftText('knowledge', `app_knowledge.${n}`, {
        ...item,
        additional_metadata: {
          ...additional_metadata,
          ...(url === undefined ? {} : { url }),
          ...(source === undefined ? {} : { source }),
        },
      }),
    ),
    ...memories.map((memory, n) => draftText('memory', `memories.${n}`, memory)),
  ];
}

function draftText(
  type: ItemRecord['type'],
  field: string,
  item: DocumentMetadata & { title?: string | undefined } & Parameters<typeof wholeText>[0],
): Draft {
  const { id, title, metadata, additional_metadata } = item;
  return {
    id: id ?? newItemId(),
    field,
    content: {
      type,
      title: title ?? null,
      source: { kind: 'text', text: wholeText(item) },
      metadata,
      additional_metadata,
    },
  };
}

function draftFile(
  type: ItemRecord['type'],
  file: UploadedFile<FileReceipt>,
  n: number,
  metadata: DocumentMetadata | undefined,
): Draft {
  const { file_id, size, sha256, detected, refusal } = file.stored;
  const draft: Draft = {
    id: metadata?.id ?? newItemId(),
    field: `document_metadata.${n}`,
    sha256,
    filename: file.filename,
  };
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

/** Some clients spread an object over fields such as `memories[0][text]`; it would go unnoticed otherwise. */
function refuseBrackets(fields: ReadonlyMap<string, string>): void {
  for (const field of fields.keys()) {
    const name = /^(document_metadata|app_knowledge|memories)[[.]/.exec(field)?.[1];
    if (name) throw new ServiceError('VALIDATION_ERROR', `${name}: must be one field with an array as JSON text`);
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
    if (!(error instanceof ServiceError) || error.message.startsWith(`${name}:`)) throw error;
    const inside = /^\d+[.:]/.test(error.message) ? '.' : ': ';
    throw new ServiceError('VALIDATION_ERROR', `${name}${inside}${error.message}`);
  }
}

/** @throws ServiceError VALIDATION_ERROR */
export function refuseRepeatedIds(drafts: readonly Draft[]): void {
  const seen = new Set<string>();
  for (const { id } of drafts) {
    if (seen.has(id)) throw new ServiceError('VALIDATION_ERROR', `The id "${id}" is given twice in this request.`);
    seen.add(id);
  }
}
