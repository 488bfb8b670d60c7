import { Client, Connection, isGrpcServiceError, type WorkflowClientInterceptor } from '@temporalio/client';
import type { DataConverter } from '@temporalio/common';
import { loadClientConnectConfig } from '@temporalio/envconfig';
import proto from '@temporalio/proto';
import { SEARCH_ATTRIBUTES } from '../domain/search-attributes.js';
import { dataConverterOf } from './payload-codec.js';

/** How long connecting may take. */
const CONNECT_TIMEOUT_MS = 10_000;
/** How long a health check waits. */
const PING_MS = 2_000;
/** gRPC status codes PERMISSION_DENIED and UNIMPLEMENTED. */
const NOT_ALLOWED = [7, 12];

export type TemporalAccess = ReturnType<typeof temporalAccess>;

/**
 * The credentials for a Temporal server that requires TLS, a client certificate or an API key.
 * @param settings with the names of Temporal's own tools: TEMPORAL_API_KEY, TEMPORAL_TLS…
 * @throws Error when a certificate cannot be read
 */
export function temporalAccess(settings: object) {
  const temporalSettings = Object.entries(settings).filter(
    ([name, value]) => /^TEMPORAL_(API_KEY|TLS)/.test(name) && value,
  );
  const { apiKey, tls } = loadClientConnectConfig({
    disableFile: true,
    overrideEnvVars: Object.fromEntries(temporalSettings),
  }).connectionOptions;
  return { ...(apiKey === undefined ? {} : { apiKey }), ...(tls === undefined ? {} : { tls }) };
}

/** @returns a connected client. @throws Error with the address when Temporal cannot be reached */
export async function connectTemporal(
  address: string,
  namespace: string,
  access: TemporalAccess = {},
  dataConverter: DataConverter = {},
  interceptors: WorkflowClientInterceptor[] = [],
): Promise<Client> {
  const connection = await Connection.connect({ address, connectTimeout: CONNECT_TIMEOUT_MS, ...access }).catch(
    (error) => {
      throw new Error(`Temporal does not respond at ${address}: ${error.message}`);
    },
  );
  return new Client({ connection, namespace, dataConverter, interceptors: { workflow: interceptors } });
}

/** The settings that name a Temporal server; see `temporalAccess` for those of its credentials. */
interface TemporalSettings {
  TEMPORAL_ADDRESS: string;
  TEMPORAL_NAMESPACE: string;
  POSTBACK_TEMPORAL_CODEC_KEYS?: string | undefined;
}

/** As `connectTemporal`, to the server of the settings, with their credentials and their encryption. */
export function connectConfiguredTemporal(
  settings: TemporalSettings,
  interceptors?: WorkflowClientInterceptor[],
): Promise<Client> {
  const { TEMPORAL_ADDRESS: address, TEMPORAL_NAMESPACE: namespace, POSTBACK_TEMPORAL_CODEC_KEYS: keys } = settings;
  return connectTemporal(address, namespace, temporalAccess(settings), dataConverterOf(keys), interceptors);
}

/** Whether Temporal responds and has the namespace. */
export async function temporalReachable(client: Client): Promise<boolean> {
  try {
    await client.connection.withDeadline(Date.now() + PING_MS, () =>
      client.workflowService.describeNamespace({ namespace: client.options.namespace }),
    );
    return true;
  } catch {
    return false;
  }
}

export interface SearchAttributeReport {
  /** False when the server does not allow it; then an operator has to register them. */
  allowed: boolean;
  /** Names of those that are registered with another type, which Temporal cannot change. */
  mistyped: string[];
}

/** Registers the search attributes that are missing. */
export async function registerSearchAttributes(client: Client, namespace: string): Promise<SearchAttributeReport> {
  try {
    return { allowed: true, mistyped: await registerMissing(client, namespace) };
  } catch (error) {
    if (!isGrpcServiceError(error) || !NOT_ALLOWED.includes(error.code)) throw error;
    return { allowed: false, mistyped: [] };
  }
}

/** @returns the names of those that are registered with another type */
async function registerMissing(client: Client, namespace: string): Promise<string[]> {
  const { operatorService } = client.connection as Connection;
  const registered = (await operatorService.listSearchAttributes({ namespace })).customAttributes ?? {};
  const { IndexedValueType } = proto.temporal.api.enums.v1;
  const needed = Object.values(SEARCH_ATTRIBUTES).map(({ name, type }) => ({
    name,
    type: IndexedValueType[`INDEXED_VALUE_TYPE_${type}`],
  }));
  const missing = needed.filter(({ name }) => !(name in registered));
  if (missing.length > 0) {
    await operatorService.addSearchAttributes({
      namespace,
      searchAttributes: Object.fromEntries(missing.map(({ name, type }) => [name, type])),
    });
  }
  return needed.filter(({ name, type }) => name in registered && registered[name] !== type).map(({ name }) => name);
}
