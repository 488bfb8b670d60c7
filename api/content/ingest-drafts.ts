import { isUtf8 } from 'node:buffer';
import type { z } from 'zod';
import { DEFAULT_JSON_BOUNDS, JsonBoundsError } from '../../domain/bounded-json.js';
import {
  appKnowledgeSchema,
  type DocumentMetadata,
  documentMetadataSchema,
  type ingestFieldsSchema,
  type ingestTextsSchema,
  MAX_ITEM_CHARACTERS,
  memoriesSchema,
  wholeText,
} from '../../domain/content/ingest.js';
import { ServiceError } from '../../domain/errors.js';
import type { ExtractionError } from '../../domain/extraction.js';
import { newItemId } from '../../domain/ids.js';
import { findElements, parseElements } from '../../domain/json-elements.js';
import type { ItemRecord } from '../../storage/content/items.js';
import { type FormFields, type KnownFields, rejectUnknownFields } from '../form-fields.js';
import type { UploadedFile } from '../multipart.js';
import type { FileReceipt } from '../receive-file.js';
import { readEach } from '../validation.js';

/** An item of an ingest request, before it is compared with the items of the database. */
export interface Draft {
  id: string;
  /** Where the item is in the request, such as `memories.0`. */
  field: string;
  /** SHA-256 of a file's content, hex. */
  sha256?: string;
  filename?: string;
  /** Absent for a file that is rejected. */
  content?: Pick<ItemRecord, 'type' | 'title' | 'source' | 'metadata' | 'additional_metadata'>;
  /** Why a file is rejected. */
  error?: ExtractionError | undefined;
}

/**
 * Reads the items of an ingest request from its files and JSON fields, in the order sent.
 * @param request the type of the items that are files, and the language of those without one of their own
 * @param known the text fields that the form may have
 * @throws ServiceError VALIDATION_ERROR that names the invalid field
 */
export async function draftItems(
  request: Pick<z.output<typeof ingestFieldsSchema>, 'type' | 'language'>,
  fields: FormFields,
  files: readonly UploadedFile<FileReceipt>[],
  { maxItems, known }: { maxItems: number; known: KnownFields },
): Promise<Draft[]> {
  rejectMisplacedFiles(fields, files);
  rejectBracketedFields(fields);
  rejectUnknownFields(fields, known);
  const metadata = await readField(fields, 'document_metadata', documentMetadataSchema, maxItems);
  if (metadata && metadata.length !== files.length) {
    throw invalid('document_metadata', `has ${metadata.length} entries for ${files.length} documents`);
  }
  const app_knowledge = await readField(fields, 'app_knowledge', appKnowledgeSchema, maxItems);
  const memories = await readField(fields, 'memories', memoriesSchema, maxItems);
  return [
    ...files.map((file, n) =>
      draftFile(request.type, `document_metadata.${n}`, file, { language: request.language, ...metadata?.[n] }),
    ),
    ...draftTexts({ app_knowledge, memories }),
  ];
}

type Texts = Pick<z.output<typeof ingestTextsSchema>, 'app_knowledge' | 'memories'>;

/** The items of an ingest request that are texts, in the order sent. */
export function draftTexts({ app_knowledge: knowledge = [], memories = [] }: Texts): Draft[] {
  return [
    ...knowledge.map(({ url, source, ...item }, n) => {
      const additional_metadata = {
        ...item.additional_metadata,
        ...(url === undefined ? {} : { url }),
        ...(source === undefined ? {} : { source }),
      };
      return draftText('knowledge', `app_knowledge.${n}`, { ...item, additional_metadata });
    }),
    ...memories.map((memory, n) => draftText('memory', `memories.${n}`, memory)),
  ];
}

/** @throws ServiceError VALIDATION_ERROR */
export function rejectRepeatedIds(drafts: readonly Draft[]): void {
  const seen = new Set<string>();
  for (const { id } of drafts) {
    if (seen.has(id)) throw new ServiceError('VALIDATION_ERROR', `The id "${id}" is used twice in this request.`);
    seen.add(id);
  }
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
  field: string,
  { filename, stored }: UploadedFile<FileReceipt>,
  { id, language, metadata, additional_metadata }: Partial<DocumentMetadata>,
): Draft {
  const { file_id, size, sha256, detected, error } = stored;
  const draft: Draft = { id: id ?? newItemId(), field, sha256, filename };
  if (!detected) return { ...draft, error };
  return {
    ...draft,
    content: {
      type,
      title: null,
      source: {
        kind: 'file',
        file_id,
        filename,
        file_kind: detected.kind,
        mime_type: detected.mime_type,
        size,
        language,
      },
      metadata: metadata ?? {},
      additional_metadata: additional_metadata ?? {},
    },
  };
}

function rejectMisplacedFiles(fields: FormFields, files: readonly UploadedFile<FileReceipt>[]): void {
  const misplaced = files.find((file) => file.field !== 'documents');
  if (misplaced) throw invalid(misplaced.field, 'must not be a file; send files as "documents"');
  if (fields.has('documents')) throw invalid('documents', 'must be files, each with a file name');
}

/** Some clients spread an object over fields such as `memories[0][text]`, which would be ignored silently. */
function rejectBracketedFields(fields: FormFields): void {
  for (const field of fields.keys()) {
    const name = /^(document_metadata|app_knowledge|memories)[[.]/.exec(field)?.[1];
    if (name) throw invalid(name, 'must be one field with an array as JSON text');
  }
}

/** Levels and values of one field: the metadata in it is free, but bounded. */
const BOUNDS = {
  maxDepth: DEFAULT_JSON_BOUNDS.maxDepth,
  maxValues: 250_000,
  element: { maxValues: DEFAULT_JSON_BOUNDS.maxValues, maxCharacters: MAX_ITEM_CHARACTERS },
};

/**
 * Reads a field that contains a JSON array as text, element by element.
 * @returns undefined when the request does not have it
 */
async function readField<Element extends z.ZodType>(
  fields: FormFields,
  name: string,
  schema: z.ZodArray<Element>,
  maxElements: number,
): Promise<z.output<Element>[] | undefined> {
  const json = fields.get(name);
  if (json === undefined) return undefined;
  if (!isUtf8(json)) throw invalid(name, 'must be UTF-8');
  try {
    const elements = await findElements(json, { ...BOUNDS, maxElements });
    return await readEach(schema.element, parseElements(json, elements), name);
  } catch (error) {
    if (error instanceof JsonBoundsError) throw invalid(name, error.message);
    if (error instanceof SyntaxError) throw invalid(name, 'must be an array as JSON text');
    throw error;
  }
}

function invalid(field: string, message: string): ServiceError {
  return new ServiceError('VALIDATION_ERROR', `${field}: ${message}`);
}
