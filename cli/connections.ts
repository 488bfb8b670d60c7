/** The connections of commands: each lasts as long as the work that it is for. */
import type { Client } from '@temporalio/client';
import type { Config } from '../runtime/config.js';
import { type Collections, openCollections } from '../storage/collections.js';
import { connectConfiguredTemporal } from '../temporal/connection.js';
import { runningSettings } from './data-folder.js';

/**
 * Runs the work of a command with the database of the settings.
 * @param open `connectCollections` for work that needs the indexes
 */
export async function withCollections<Result>(
  work: (collections: Collections, config: Config) => Promise<Result>,
  open: typeof openCollections = openCollections,
): Promise<Result> {
  const config = runningSettings(process.env);
  const collections = await open(config.MONGODB_URI, 'postback-cli');
  return work(collections, config).finally(() => collections.mongoClient.close());
}

/** Runs the work of a command with the Temporal of the settings. */
export async function withTemporal<Result>(config: Config, work: (client: Client) => Promise<Result>): Promise<Result> {
  const client = await connectConfiguredTemporal(config);
  return work(client).finally(() => client.connection.close());
}
