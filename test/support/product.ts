import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { MongoClient } from 'mongodb';
import { type Instance, startInstance } from '../../cli/instance.js';
import type { KeyKind } from '../../domain/api-keys.js';
import { createApiKeys } from '../../storage/api-keys.js';
import { connectMongo } from '../../storage/mongo.js';

/** How to reach a running product, in a form that can be handed to test processes. */
export interface ProductAddress {
  apiUrl: string;
  temporalAddress: string;
  mongodbUri: string;
  dataDir: string;
}

export interface Product extends ProductAddress, Instance {}

/** Real servers, a real API process and a real worker process, in a folder of their own. */
export async function startProduct(extra: Record<string, string> = {}): Promise<Product> {
  const dataDir = mkdtempSync(join(tmpdir(), 'postback-test-'));
  const env = {
    ...process.env,
    POSTBACK_DATA_DIR: dataDir,
    POSTBACK_API_PORT: '0',
    OUTBOUND_ALLOW_CIDRS: '127.0.0.0/8',
    POSTBACK_SWEEP_SECONDS: '2',
    POSTBACK_SWEEP_QUIET_SECONDS: '4',
    ...extra,
  };
  const say = process.env.POSTBACK_TEST_VERBOSE ? console.error : () => undefined;
  const instance = await startInstance(env, say);
  if (instance.noModel !== null) throw new Error(`the tests need the embedding model: ${instance.noModel}`);
  const { temporalAddress, mongodbUri } = instance.stack;
  return { ...instance, temporalAddress, mongodbUri, dataDir };
}

/** The product that all path tests share; each takes an organisation of its own. */
export function sharedProduct(): ProductAddress {
  return JSON.parse(process.env.POSTBACK_TEST_PRODUCT!) as ProductAddress;
}

/** A key made as the command line makes it. */
export async function makeKey(mongodbUri: string, org: string, kind: KeyKind = 'api', expires_at: Date | null = null) {
  const mongo = await connectMongo(mongodbUri, 'postback-test');
  try {
    return await createApiKeys(mongo).create({ org, kind, label: 'test', expires_at });
  } finally {
    await mongo.client.close();
  }
}

/** A look into MongoDB, to see what a client cannot. */
export async function withDb<T>(mongodbUri: string, look: (db: import('mongodb').Db) => Promise<T>): Promise<T> {
  const client = await new MongoClient(mongodbUri).connect();
  try {
    return await look(client.db());
  } finally {
    await client.close();
  }
}
