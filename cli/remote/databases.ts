import { setTimeout as wait } from 'node:timers/promises';
import { bodyOf } from '../../client/index.js';
import { DATABASE_STATUS_TABLE } from '../../domain/content/states.js';
import { COMMANDS } from '../commands.js';
import { byteSize, commandFor, fields, localTime, paintState, print, table } from './output.js';
import { collect, everyEntry, findServer, type ServerOptions } from './server.js';

const POLL_MS = 200;

/** `postback databases create`: creates a database and waits until it accepts items. */
export async function createDatabase(database: string, options: ServerOptions): Promise<void> {
  const client = findServer(options).client();
  await bodyOf(client.POST('/databases', { body: { database } }));
  const isReady = async () => {
    const { data } = await bodyOf(client.GET('/databases/status', { params: { query: { database } } }));
    return data.infra.ready_for_ingestion;
  };
  while (!(await isReady())) await wait(POLL_MS);
  const next = commandFor(options, 'ingest', COMMANDS.examples, '--database', database, '--watch');
  print({ json: options.json, data: { database, status: 'ready' }, next }, () => `${database} is ready.`);
}

/** `postback databases list` */
export async function listDatabases(options: ServerOptions): Promise<void> {
  const client = findServer(options).client();
  const pages = everyEntry(async (cursor) => {
    const { data } = await bodyOf(client.GET('/databases', { params: { query: { cursor } } }));
    return { entries: data.databases, next: data.next_cursor };
  });
  const databases = await collect(pages);
  const rows = databases.map(({ database, status, created_at }) => [
    database,
    paintState(DATABASE_STATUS_TABLE, status),
    localTime(created_at),
  ]);
  const first = databases[0]?.database;
  const next = commandFor(options, 'databases', ...(first === undefined ? ['create', 'library'] : ['stats', first]));
  print({ json: options.json, data: { databases }, next }, () => table(['database', 'status', 'created'], rows));
}

/** `postback databases stats` */
export async function showStatistics(database: string, options: ServerOptions): Promise<void> {
  const client = findServer(options).client();
  const { data } = await bodyOf(client.GET('/databases/{database}/stats', { params: { path: { database } } }));
  const { by_status, by_type, bytes, ...others } = data;
  const text = () => fields({ ...others, size: byteSize(bytes), ...by_status, ...by_type });
  print({ json: options.json, data, next: commandFor(options, 'items', 'list', '--database', database) }, text);
}

/** `postback databases delete` */
export async function deleteDatabase(database: string, options: ServerOptions): Promise<void> {
  const client = findServer(options).client();
  const { data } = await bodyOf(client.DELETE('/databases/{database}', { params: { path: { database } } }));
  print(
    { json: options.json, data, next: commandFor(options, 'databases', 'list') },
    () => `${database} is being deleted.`,
  );
}
