import { type Db, MongoClient } from 'mongodb';
import { type KeyKind, SCOPES, type Scope } from '../../domain/api-keys.js';
import { createApiKeys } from '../../storage/api-keys.js';
import { type Collections, openCollections } from '../../storage/collections.js';
import { eventually } from './eventually.js';

/** The connections of the running test file by address: connecting costs more than most queries. */
const clients = new Map<string, Promise<MongoClient>>();
const stores = new Map<string, Promise<Collections>>();

/** Reads MongoDB directly, for data that the API does not return. */
export async function withDb<T>(mongodbUri: string, query: (db: Db) => Promise<T>): Promise<T> {
  const client = await shared(clients, mongodbUri, () => new MongoClient(mongodbUri).connect());
  return query(client.db());
}

/** Creates a key as the command line does. */
export async function makeKey(
  mongodbUri: string,
  org: string,
  kind: KeyKind = 'api',
  expires_at: Date | null = null,
  scopes: readonly Scope[] = SCOPES,
) {
  const collections = await shared(stores, mongodbUri, () => openCollections(mongodbUri, 'postback-test'));
  return createApiKeys(collections).create({ org, kind, label: 'test', scopes, expires_at });
}

/** Closes the connections of `withDb` and `makeKey`. The runner calls it after each test file. */
export async function closeConnections(): Promise<void> {
  const opened = await Promise.allSettled([
    ...clients.values(),
    ...[...stores.values()].map(async (store) => (await store).mongoClient),
  ]);
  clients.clear();
  stores.clear();
  await Promise.all(opened.map((client) => client.status === 'fulfilled' && client.value.close()));
}

/** A busy machine can take longer to connect than the product waits. */
function shared<T>(open: Map<string, Promise<T>>, uri: string, connect: () => Promise<T>): Promise<T> {
  const known = open.get(uri) ?? eventually(`a connection to ${uri}`, connect);
  open.set(uri, known);
  known.catch(() => open.delete(uri));
  return known;
}
