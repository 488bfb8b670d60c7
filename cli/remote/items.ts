import { bodyOf, type Schemas } from '../../client/index.js';
import { INDEXING_STATUS_TABLE, type IndexingStatus } from '../../domain/content/states.js';
import { byteSize, commandFor, fields, localTime, paint, paintState, print, table } from './output.js';
import { collect, everyEntry, findServer, type ServerOptions } from './server.js';

interface ItemOptions extends ServerOptions {
  database: string;
  collection?: string;
}

interface ListOptions extends ItemOptions {
  status?: IndexingStatus;
  limit: number;
}

/** The options that name a collection. */
export function inside(database: string, collection: string | undefined): string[] {
  const isDefault = collection === undefined || collection === 'default';
  return ['--database', database, ...(isDefault ? [] : ['--collection', collection])];
}

/** `postback items list` */
export async function listItems({ database, collection, status, limit, ...options }: ListOptions): Promise<void> {
  const client = findServer(options).client();
  const pages = everyEntry(async (cursor) => {
    const query = { database, collection, status, cursor };
    const { data } = await bodyOf(client.GET('/context/list', { params: { query } }));
    return { entries: data.items, next: data.next_cursor };
  }, limit);
  const items = await collect(pages);
  const rows = items.map((item) => {
    const { id, collection, type, indexing_status, source, updated_at, error_code } = item;
    const size = source.size === null ? '' : byteSize(source.size);
    return [
      id,
      titleOf(item),
      collection,
      type,
      paintState(INDEXING_STATUS_TABLE, indexing_status),
      error_code,
      size,
      localTime(updated_at),
    ];
  });
  const head = ['id', 'title', 'collection', 'type', 'status', 'error', 'size', 'updated'];
  const first = items[0];
  const next = first && commandFor(options, 'items', 'show', first.id, ...inside(database, first.collection));
  print({ json: options.json, data: { items }, next }, () => table(head, rows));
}

/** The title, or of a connector's item the address, shortened. */
function titleOf({ title, additional_metadata: { connector_id, source } }: Schemas['Item']): string {
  const whole = title ?? (connector_id === undefined ? '' : String(source));
  return whole.length <= 50 ? whole : `${[...whole].slice(0, 49).join('')}…`;
}

/** `postback items show`: prints an item with its text. */
export async function showItem(id: string, { database, collection, ...options }: ItemOptions): Promise<void> {
  const client = findServer(options).client();
  const at = { path: { id }, query: { database, collection } };
  const { data } = await bodyOf(client.GET('/context/{id}', { params: at }));
  const rest = everyEntry(async (cursor) => {
    if (cursor === undefined) return { entries: data.chunks, next: data.next_cursor };
    const page = await bodyOf(client.GET('/context/{id}', { params: { ...at, query: { ...at.query, cursor } } }));
    return { entries: page.data.chunks, next: page.data.next_cursor };
  });
  const chunks = await collect(rest);
  const next = commandFor(options, 'query', 'What is this about?', ...inside(database, data.collection));
  print({ json: options.json, data: { ...data, chunks, next_cursor: null }, next }, () => {
    const { title, type, indexing_status, error_code, error_message, metadata, updated_at } = data;
    const details = {
      id,
      title,
      collection: data.collection,
      type,
      status: paintState(INDEXING_STATUS_TABLE, indexing_status),
      error: error_code === null ? null : `${error_code} ${error_message}`,
      metadata: JSON.stringify(metadata),
      updated: localTime(updated_at),
    };
    return [fields(details), ...chunks.map(({ text }, place) => `${paint('dim', `── ${place + 1}`)}\n${text}`)].join(
      '\n\n',
    );
  });
}

/** `postback items delete`: deletes items. The exit code is 1 when one does not exist. */
export async function deleteItems(ids: readonly string[], options: ItemOptions): Promise<void> {
  const { database, collection, json } = options;
  const client = findServer(options).client();
  const { data } = await bodyOf(client.DELETE('/context', { body: { database, collection, ids: [...ids] } }));
  print({ json, data, next: commandFor(options, 'items', 'list', ...inside(database, collection)) }, () => {
    const missing = data.not_found.map((id) => `${paint('red', '✗')} ${id} does not exist`);
    return [`${data.deleted_count} deleted`, ...missing].join('\n');
  });
  if (data.not_found.length > 0) process.exitCode = 1;
}
