import { Client, Connection, isGrpcServiceError } from '@temporalio/client';
import { loadClientConnectConfig } from '@temporalio/envconfig';
import proto from '@temporalio/proto';
import { SEARCH_ATTRIBUTES } from '../domain/task-queues.js';

/** How long an address may take to answer at all. */
const CONNECT_TIMEOUT_MS = 10_000;
/** gRPC's codes for a call that is not for this client, and for one that the server does not know. */
const NOT_FOR_US = [7, 12];

export type TemporalAccess = ReturnType<typeof temporalAccess>;

/**
 * How to get into a Temporal that is guarded: by TLS, with a certificate of our own, or with a key.
 * @param settings by the names that Temporal's own tools read from the environment: TEMPORAL_API_KEY, TEMPORAL_TLS…
 * @throws Error when a certificate cannot be read
 */
export function temporalAccess(settings: object) {
  const given = Object.entries(settings).filter(([name, value]) => /^TEMPORAL_(API_KEY|TLS)/.test(name) && value);
  const { apiKey, tls } = loadClientConnectConfig({
    disableFile: true,
    overrideEnvVars: Object.fromEntries(given),
  }).connectionOptions;
  return { ...(apiKey === undefined ? {} : { apiKey }), ...(tls === undefined ? {} : { tls }) };
}

/** @throws Error that names the address */
export async function connectTemporal(
  address: string,
  namespace: string,
  access: TemporalAccess = {},
): Promise<Client> {
  const connection = await Connection.connect({ address, connectTimeout: CONNECT_TIMEOUT_MS, ...access }).catch(
    (error) => {
      throw new Error(`Temporal does not answer at ${address}: ${error.message}`);
    },
  );
  return new Client({ connection, namespace });
}

/**
 * Registers the search attributes that are missing. The embedded server is started with them; others learn them here.
 * @returns false when Temporal does not let a client do that: then an operator has to
 */
export async function registerSearchAttributes(client: Client, namespace: string): Promise<boolean> {
  try {
    await registerMissing(client, namespace);
    return true;
  } catch (error) {
    if (!isGrpcServiceError(error) || !NOT_FOR_US.includes(error.code)) throw error;
    return false;
  }
}

async function registerMissing(client: Client, namespace: string): Promise<void> {
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
