import { bodyOf, type Schemas } from '../../client/index.js';
import { INDEXING_STATUS_TABLE, type IndexingStatus } from '../../domain/content/states.js';
import { byteSize, fields, localTime, paint, paintState, print, table } from './output.js';
import { findServer, listOf, type ServerOptions } from './server.js';

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
  const page = async (cursor?: string) => {
    const query = { database, collection, status, cursor };
    return (await bodyOf(client.GET('/context/list', { params: { query } }))).data;
  };
  const items = await listOf('items', page, limit);
  const rows = items.map((item) => ({
    id: item.id,
    title: titleOf(item),
    collection: item.collection,
    type: item.type,
    status: paintState(INDEXING_STATUS_TABLE, item.indexing_status),
    error: item.error_code,
    size: item.source.size === null ? '' : byteSize(item.source.size),
    updated: localTime(item.updated_at),
  }));
  const [first] = items;
  const next = first && ['items', 'show', first.id, ...inside(database, first.collection)];
  print({ ...options, next }, { items }, () => table(rows));
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
  const page = async (cursor?: string) => {
    return (await bodyOf(client.GET('/context/{id}', { params: { ...at, query: { ...at.query, cursor } } }))).data;
  };
  const data = await page();
  const chunks = await listOf('chunks', async (cursor?: string) => (cursor === undefined ? data : page(cursor)));
  const next = ['query', 'What is this about?', ...inside(database, data.collection)];
  print({ ...options, next }, { ...data, chunks, next_cursor: null }, () => {
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
  const { database, collection } = options;
  const client = findServer(options).client();
  const { data } = await bodyOf(client.DELETE('/context', { body: { database, collection, ids: [...ids] } }));
  print({ ...options, next: ['items', 'list', ...inside(database, collection)] }, data, () => {
    const missing = data.not_found.map((id) => `${paint('red', '✗')} ${id} does not exist`);
    return [`${data.deleted_count} deleted`, ...missing].join('\n');
  });
  if (data.not_found.length > 0) process.exitCode = 1;
}
