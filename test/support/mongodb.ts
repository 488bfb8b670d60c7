import { MongoClient } from 'mongodb';
import { type Collections, connectCollections, openCollections } from '../../storage/collections.js';
import { PATIENCE_MS } from './eventually.js';

const APP = 'postback-test';

/** The collections of a test, with their indexes. The test closes their client. */
export function testCollections(uri: string): Promise<Collections> {
  return connectCollections(uri, APP, PATIENCE_MS);
}

/** The same without creating indexes. */
export function openTestCollections(uri: string): Promise<Collections> {
  return openCollections(uri, APP, PATIENCE_MS);
}

/** A client of a test, which closes it. */
export function connectMongo(uri: string, options: { monitorCommands?: boolean } = {}): Promise<MongoClient> {
  return new MongoClient(uri, { serverSelectionTimeoutMS: PATIENCE_MS, ...options }).connect();
}
