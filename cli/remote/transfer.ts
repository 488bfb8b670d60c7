import { createReadStream, existsSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { bodyOf, type Postback, PostbackError, type Schemas } from '../../client/index.js';
import { linesOf } from '../../domain/lines.js';
import { ingestForm } from './ingest.js';
import { paint, print } from './output.js';
import { everyEntry, findServer, type ServerOptions } from './server.js';

/** A line of an export: an item with what it was made from. */
interface ExportedItem {
  id: string;
  collection: string;
  type: 'knowledge' | 'memory';
  title: string | null;
  metadata: Record<string, unknown>;
  additional_metadata: Record<string, unknown>;
  version: number;
  source: { kind: 'text'; text: string } | { kind: 'file'; filename: string; base64: string };
}

/** A request has at most so many items and characters of content. */
const BATCH_ITEMS = 32;
const BATCH_SIZE = 32 * 1024 * 1024;

/**
 * `postback export`: appends the completed items of a database to a file of JSON lines, with texts and original files. A
 * run that was interrupted continues: items that are in the file are not read again.
 */
export async function exportDatabase(path: string, options: ServerOptions & { database: string }): Promise<void> {
  const { database } = options;
  const client = findServer(options).client();
  const exported = await exportedBefore(path);
  const file = await open(path, 'a', 0o600);
  const counts = { exported: 0, skipped: exported.size, vanished: 0 };
  try {
    const items = everyEntry('items', async (cursor?: string) => {
      const query = { database, status: 'completed' as const, cursor };
      return (await bodyOf(client.GET('/context/list', { params: { query } }))).data;
    });
    for await (const item of items) {
      if (exported.has(keyOf(item))) continue;
      if (await exportItem(client, item, file)) counts.exported++;
      else counts.vanished++;
    }
  } finally {
    await file.close();
  }
  print(options, { file: path, ...counts }, () => {
    return `${counts.exported} items written to ${path}${counts.skipped ? `, ${counts.skipped} were there` : ''}`;
  });
}

/** @returns false when the item was deleted since it was listed */
async function exportItem(client: Postback, item: Schemas['Item'], file: FileHandle): Promise<boolean> {
  const { id, database, collection, type, title, metadata, additional_metadata, version, source } = item;
  const params = { path: { id }, query: { database, collection } };
  let content: Buffer;
  try {
    const body = await bodyOf(client.GET('/context/{id}/content', { params, parseAs: 'arrayBuffer' }));
    content = Buffer.from(body as unknown as ArrayBuffer);
  } catch (error) {
    if (error instanceof PostbackError && error.status === 404) return false;
    throw error;
  }
  const line: ExportedItem = {
    ...{ id, collection, type, title, metadata, additional_metadata, version },
    source:
      source.kind === 'text'
        ? { kind: 'text', text: content.toString() }
        : { kind: 'file', filename: source.filename, base64: content.toString('base64') },
  };
  await file.appendFile(`${JSON.stringify(line)}\n`);
  return true;
}

const keyOf = ({ collection, id, version }: Pick<ExportedItem, 'collection' | 'id' | 'version'>) =>
  JSON.stringify([collection, id, version]);

/** The items in a file of an earlier run. A line that was not written whole is removed. */
async function exportedBefore(path: string): Promise<Set<string>> {
  const found = new Set<string>();
  if (!existsSync(path)) return found;
  let end = 0;
  for await (const { item, end: endOfLine } of itemsOf(path, 0)) {
    found.add(keyOf(item));
    end = endOfLine;
  }
  truncateSync(path, end);
  return found;
}

/**
 * `postback import`: ingests a file of `postback export` into a database. A run that was interrupted continues after the
 * last accepted request, which `<file>.imported` says. The exit code is 1 when the server rejected an item.
 */
export async function importDatabase(path: string, options: ServerOptions & { database: string }): Promise<void> {
  const { database } = options;
  const client = findServer(options).client();
  const progress = progressOf(path, database);
  const counts = { accepted: 0, unchanged: 0 };
  const rejected: { id: string; error: string }[] = [];
  let batch: ExportedItem[] = [];
  let size = 0;
  let batchEnd = progress.read();

  async function sendBatch(): Promise<void> {
    if (batch.length === 0) return;
    for (const { id, status, unchanged, error_code, error_message } of await sendItems(client, database, batch)) {
      if (status === 'errored') rejected.push({ id, error: `${error_code} ${error_message}` });
      else if (unchanged) counts.unchanged++;
      else counts.accepted++;
    }
    progress.save(batchEnd);
    batch = [];
    size = 0;
  }

  for await (const { item, end } of itemsOf(path, batchEnd)) {
    const [first = item] = batch;
    const fits = batch.length < BATCH_ITEMS && size + (end - batchEnd) <= BATCH_SIZE;
    // An item that was replaced between two runs of the export is there twice, and a request may name an id once.
    const isRepeated = batch.some(({ id }) => id === item.id);
    if (!fits || isRepeated || first.collection !== item.collection || first.type !== item.type) await sendBatch();
    batch.push(item);
    size += end - batchEnd;
    batchEnd = end;
  }
  await sendBatch();
  progress.remove();
  print(options, { ...counts, rejected }, () => {
    const lines = rejected.map(({ id, error }) => `${paint('red', '✗')} ${id}: ${error}`);
    return [`${counts.accepted} items accepted, ${counts.unchanged} unchanged`, ...lines].join('\n');
  });
  if (rejected.length > 0) process.exitCode = 1;
}

/** @param items of one collection and one type */
async function sendItems(
  client: Postback,
  database: string,
  items: ExportedItem[],
): Promise<Schemas['IngestResult'][]> {
  const { collection, type } = items[0]!;
  const documents: File[] = [];
  const described: object[] = [];
  const texts: object[] = [];
  for (const { id, title, metadata, additional_metadata, source } of items) {
    const fields = { id, metadata, additional_metadata };
    if (source.kind === 'file') {
      documents.push(new File([Buffer.from(source.base64, 'base64')], source.filename));
      described.push(fields);
    } else texts.push({ ...fields, ...(title !== null && { title }), text: source.text });
  }
  return ingestForm(client, {
    ...{ database, collection, type, upsert: 'true' },
    ...(documents.length > 0 && { documents, document_metadata: JSON.stringify(described) }),
    ...(texts.length > 0 && { [type === 'memory' ? 'memories' : 'app_knowledge']: JSON.stringify(texts) }),
  });
}

/** The lines of an export from a position, each with the position after it. @throws Error that names a broken line */
async function* itemsOf(path: string, start: number): AsyncGenerator<{ item: ExportedItem; end: number }> {
  const { size } = statSync(path);
  let end = start;
  for await (const line of linesOf(createReadStream(path, { start }))) {
    end += Buffer.byteLength(line) + 1;
    // The last line of a run that was interrupted.
    if (end > size) return;
    yield { item: parseLine(line, path, end), end };
  }
}

function parseLine(line: string, path: string, end: number): ExportedItem {
  try {
    const item = JSON.parse(line) as ExportedItem;
    if (typeof item.id === 'string' && typeof item.source?.kind === 'string') return item;
  } catch {
    // Reported below.
  }
  throw new Error(`${path}: the line that ends at byte ${end} is not an exported item.`);
}

/** Where an import of a file into a database has got to. */
function progressOf(path: string, database: string) {
  const file = `${path}.imported`;
  return {
    read(): number {
      if (!existsSync(file)) return 0;
      const saved = JSON.parse(readFileSync(file, 'utf8')) as { database: string; position: number };
      return saved.database === database ? saved.position : 0;
    },
    save: (position: number) => writeFileSync(file, JSON.stringify({ database, position })),
    remove: () => rmSync(file, { force: true }),
  };
}
