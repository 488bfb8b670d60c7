import { type Db, MongoClient } from 'mongodb';
import { type KeyKind, SCOPES, type Scope } from '../../domain/api-keys.js';
import { createApiKeys } from '../../storage/api-keys.js';
import { type Collections, connectCollections, openCollections } from '../../storage/collections.js';
import { PATIENCE_MS } from './eventually.js';

const APP = 'postback-test';

/** Every client of the running test file. A client that stays open keeps the process of the tests alive. */
const opened = new Set<MongoClient>();
/** Connections of the running test file by address: connecting costs more than most queries. */
const clients = new Map<string, Promise<MongoClient>>();
const stores = new Map<string, Promise<Collections>>();

/** The collections of a test, with their indexes. */
export function testCollections(uri: string): Promise<Collections> {
  return collectionsOfFile(connectCollections(uri, APP, { serverSelectionMs: PATIENCE_MS }));
}

/** The same without creating indexes. */
export function openTestCollections(uri: string): Promise<Collections> {
  return collectionsOfFile(openCollections(uri, APP, { serverSelectionMs: PATIENCE_MS }));
}

/** A client of a test. */
export async function connectMongo(uri: string, options: { monitorCommands?: boolean } = {}): Promise<MongoClient> {
  const client = new MongoClient(uri, { serverSelectionTimeoutMS: PATIENCE_MS, ...options });
  opened.add(client);
  return client.connect();
}

async function collectionsOfFile(connecting: Promise<Collections>): Promise<Collections> {
  const collections = await connecting;
  opened.add(collections.mongoClient);
  return collections;
}

/** Reads MongoDB directly, for data that the API does not return. */
export async function withDb<T>(uri: string, query: (db: Db) => Promise<T>): Promise<T> {
  return query((await connectedOnce(clients, uri, connectMongo)).db());
}

/** Creates a key as the command line does. */
export async function makeKey(
  uri: string,
  org: string,
  kind: KeyKind = 'api',
  expires_at: Date | null = null,
  scopes: readonly Scope[] = SCOPES,
  crews?: readonly string[],
) {
  const keys = createApiKeys(await connectedOnce(stores, uri, openTestCollections));
  return keys.create({ org, kind, label: 'test', scopes, expires_at, ...(crews ? { crews } : {}) });
}

/** Closes all connections of the test file. The runner calls it after each. */
export async function closeConnections(): Promise<void> {
  const open = [...opened];
  for (const connections of [opened, clients, stores]) connections.clear();
  await Promise.all(open.map((client) => client.close()));
}

function connectedOnce<T>(open: Map<string, Promise<T>>, uri: string, connect: (uri: string) => Promise<T>) {
  const connected = open.get(uri) ?? connect(uri);
  open.set(uri, connected);
  connected.catch(() => open.delete(uri));
  return connected;
}
