import { Client, Connection } from '@temporalio/client';
import proto from '@temporalio/proto';
import { SEARCH_ATTRIBUTES } from '../domain/task-queues.js';

/**
 * @param connectTimeoutMs how long an address may take to answer at all
 * @throws Error that names the address
 */
export async function connectTemporal(address: string, namespace: string, connectTimeoutMs = 10_000): Promise<Client> {
  const connection = await Connection.connect({ address, connectTimeout: connectTimeoutMs }).catch((error) => {
    throw new Error(`Temporal does not answer at ${address}: ${error.message}`);
  });
  return new Client({ connection, namespace });
}

/** Registers the search attributes that are missing. The embedded server is started with them; others learn them here. */
export async function registerSearchAttributes(client: Client, namespace: string): Promise<void> {
  const { operatorService } = client.connection as Connection;
  const known = (await operatorService.listSearchAttributes({ namespace })).customAttributes ?? {};
  const missing = Object.entries(SEARCH_ATTRIBUTES).filter(([name]) => !(name in known));
  if (missing.length === 0) return;
  const { INDEXED_VALUE_TYPE_KEYWORD, INDEXED_VALUE_TYPE_DATETIME } = proto.temporal.api.enums.v1.IndexedValueType;
  const types = { Keyword: INDEXED_VALUE_TYPE_KEYWORD, Datetime: INDEXED_VALUE_TYPE_DATETIME };
  await operatorService.addSearchAttributes({
    namespace,
    searchAttributes: Object.fromEntries(missing.map(([name, type]) => [name, types[type]])),
  });
}
