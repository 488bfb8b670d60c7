import { setTimeout as wait } from 'node:timers/promises';
import { bodyOf } from '../../client/index.js';
import { DATABASE_STATUS_TABLE } from '../../domain/content/states.js';
import { COMMANDS } from '../commands.js';
import { byteSize, fields, localTime, paintState, print, table } from './output.js';
import { findServer, listOf, type ServerOptions } from './server.js';

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
  const next = ['ingest', COMMANDS.examples, '--database', database, '--watch'];
  print({ ...options, next }, { database, status: 'ready' }, () => `${database} is ready.`);
}

/** `postback databases list` */
export async function listDatabases(options: ServerOptions): Promise<void> {
  const client = findServer(options).client();
  const databases = await listOf('databases', async (cursor?: string) => {
    return (await bodyOf(client.GET('/databases', { params: { query: { cursor } } }))).data;
  });
  const rows = databases.map(({ database, status, created_at }) => ({
    database,
    status: paintState(DATABASE_STATUS_TABLE, status),
    created: localTime(created_at),
  }));
  const [first] = databases;
  const next = ['databases', ...(first ? ['stats', first.database] : ['create', 'library'])];
  print({ ...options, next }, { databases }, () => table(rows));
}

/** `postback databases stats` */
export async function showStatistics(database: string, options: ServerOptions): Promise<void> {
  const client = findServer(options).client();
  const { data } = await bodyOf(client.GET('/databases/{database}/stats', { params: { path: { database } } }));
  const { by_status, by_type, bytes, ...others } = data;
  const text = () => fields({ ...others, size: byteSize(bytes), ...by_status, ...by_type });
  print({ ...options, next: ['items', 'list', '--database', database] }, data, text);
}

/** `postback databases delete` */
export async function deleteDatabase(database: string, options: ServerOptions): Promise<void> {
  const client = findServer(options).client();
  const { data } = await bodyOf(client.DELETE('/databases/{database}', { params: { path: { database } } }));
  print({ ...options, next: ['databases', 'list'] }, data, () => `${database} is being deleted.`);
}
