import { setTimeout as wait } from 'node:timers/promises';
import type { Client } from '@opensearch-project/opensearch';
import { inBatches } from '../../../../domain/batches.js';
import { DEFAULT_LANGUAGE } from '../../../../domain/content/languages.js';
import { type IndexRow, SearchIndexError } from '../../../../domain/content/search.js';
import { languageColumn, rangeColumn } from '../columns.js';
import { bytesOf, roundedUnitVector } from './vector-form.js';

/** Size of one request; OpenSearch accepts 100 MB by default. */
const MAX_BYTES = 8 << 20;
const ONE_REQUEST = {
  count: Number.POSITIVE_INFINITY,
  size: MAX_BYTES,
  sizeOf: ({ document }: Operation) => document?.length ?? 0,
};
/** Attempts at rows that OpenSearch rejects because it is busy, and the first pause between them. */
const ATTEMPTS = 6;
const FIRST_PAUSE_MS = 100;
/** Versions of one revision: each deletion of a row takes one. */
const VERSIONS = 1_024;

interface Operation {
  id: string;
  /** JSON; null deletes the row. */
  document: string | null;
  version: number;
}

interface Result {
  status: number;
  error?: { type: string; reason?: string };
}

/**
 * Deletes rows, then adds rows, and makes the changes visible with the last request. A row has the revision of its item as
 * external version: a write that began with an older revision, and arrives late, does not replace a newer row.
 * @throws SearchIndexError when rows were not stored; the whole write can be repeated
 */
export async function writeRows(
  client: Client,
  alias: string,
  rows: readonly IndexRow[],
  remove: readonly string[],
): Promise<void> {
  const added = new Set(rows.map(({ chunk_id }) => chunk_id));
  let operations: Operation[] = [
    // A row that is added again replaces the one before.
    ...remove.filter((id) => !added.has(id)).map((id) => ({ id, document: null, version: 0 })),
    ...rows.map((row) => ({ id: row.chunk_id, document: documentOf(row), version: versionOf(row) })),
  ];
  for (let attempt = 1; ; attempt += 1) {
    operations = await send(client, alias, operations);
    if (operations.length === 0) return;
    if (attempt === ATTEMPTS) throw new SearchIndexError(`OpenSearch did not store ${operations.length} rows.`);
    await wait(FIRST_PAUSE_MS * 2 ** (attempt - 1) * (0.5 + Math.random()));
  }
}

/** @returns the operations to send again */
async function send(client: Client, alias: string, operations: readonly Operation[]): Promise<Operation[]> {
  const busy: Operation[] = [];
  const conflicts: Operation[] = [];
  const batches = [...inBatches(operations, ONE_REQUEST)];
  for (const [at, sent] of batches.entries()) {
    // The client takes lines that are JSON already, too.
    const body = sent.flatMap(linesOf) as unknown as Parameters<Client['bulk']>[0]['body'];
    const refresh = at === batches.length - 1;
    const response = await client.bulk({ index: alias, body, require_alias: true, refresh });
    for (const [n, item] of response.body.items.entries()) {
      const operation = sent[n]!;
      const { status, error } = Object.values(item)[0] as unknown as Result;
      if (!error) continue;
      if (error.type === 'index_not_found_exception') throw new Error(`${alias}: ${error.type}`);
      if (status === 429 || status === 503) busy.push(operation);
      else if (status === 409) conflicts.push({ ...operation, version: currentVersion(error, operation.version) });
      // The reason can quote a document.
      else throw new SearchIndexError(`OpenSearch rejected a row: ${error.type}`);
    }
  }
  return [...busy, ...(await withoutRow(client, alias, conflicts))];
}

/**
 * A version that conflicts is older than that of the row, or of the row's deletion. Only a row that exists is newer.
 * @returns the operations whose rows do not exist
 */
async function withoutRow(client: Client, alias: string, conflicts: readonly Operation[]): Promise<Operation[]> {
  if (conflicts.length === 0) return [];
  const ids = conflicts.map(({ id }) => id);
  const response = await client.mget({ index: alias, body: { ids }, _source: 'false' });
  const docs = response.body.docs as unknown as { _id: string; found?: boolean }[];
  const existing = new Set(docs.flatMap(({ _id, found }) => (found ? [_id] : [])));
  return conflicts.filter(({ id }) => !existing.has(id));
}

function currentVersion({ reason = '' }: { reason?: string }, sent: number): number {
  return Number(/current version \[(\d+)\]/.exec(reason)?.[1] ?? sent);
}

function linesOf({ id, document, version }: Operation): string[] {
  if (document === null) return [JSON.stringify({ delete: { _id: id } })];
  return [JSON.stringify({ index: { _id: id, version, version_type: 'external_gte' } }), document];
}

const versionOf = ({ revision = 0 }: IndexRow) => (revision + 1) * VERSIONS;

/** Rows without a vector have no field for it, because OpenSearch rejects null. */
function documentOf({ source_id, collection, type, text, language, vector, metadata }: IndexRow): string {
  const unit = vector && roundedUnitVector(vector);
  return JSON.stringify(
    {
      source_id,
      collection,
      type,
      text,
      tags: metadata.tags,
      ...(language && language !== DEFAULT_LANGUAGE ? { [languageColumn(language)]: true } : {}),
      ...columns('number', metadata.numbers),
      ...columns('text', metadata.texts),
      ...(unit ? { vector: unit, vector_bytes: bytesOf(unit) } : {}),
    },
    // Half of a character has no UTF-8.
    (_, value) => (typeof value === 'string' ? value.toWellFormed() : value),
  );
}

function columns(kind: 'number' | 'text', values: ReadonlyMap<string, number | string>): Record<string, unknown> {
  return Object.fromEntries([...values].map(([field, value]) => [rangeColumn(kind, field), value]));
}
