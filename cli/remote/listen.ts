import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { fetch } from 'undici';
import { bodyOf } from '../../client/index.js';
import { JOB_STATUS_TABLE } from '../../domain/ai-jobs/states.js';
import { INDEXING_STATUS_TABLE } from '../../domain/content/states.js';
import { CREW_TASK_STATUS_TABLE } from '../../domain/crews/states.js';
import { AUTHENTICATION_STATE_TABLE } from '../../domain/payments/states.js';
import type { StateTable } from '../../domain/state-machine.js';
import { AUTHENTICATION_ENDED } from '../../domain/webhooks/events.js';
import { stopRequested } from '../../runtime/process.js';
import { type CallbackKeys, callbackKeys, checkCallback, type VerifyOptions } from './callbacks.js';
import { localTime, paint, paintState } from './output.js';
import { findServer } from './server.js';

interface ListenOptions extends VerifyOptions {
  port: number;
  /** Register this receiver for the indexing webhooks of the organisation, while it runs. */
  register?: boolean;
  forwardTo?: string;
  /** Only the indexing webhooks of this database. */
  database?: string;
  /** Only the callbacks of this crew. */
  crew?: string;
}

interface Callback {
  event?: string;
  id?: string;
  job_id?: string;
  execution_id?: string;
  authentication_id?: string;
  database?: string;
  status?: string;
  test?: true;
}

/** Headers of the connection, not of the callback. */
const HOP_HEADERS = ['host', 'connection', 'content-length', 'transfer-encoding', 'keep-alive'];

const NO_SECRET = 'No signing secret (--secret, --register): only callbacks of AI jobs are verified.';

/**
 * `postback listen`: receives callbacks, checks their signatures, prints and forwards them, until Ctrl-C. Those that are not of
 * the named database or crew are accepted, and nothing else.
 */
export async function listen(options: ListenOptions): Promise<void> {
  const stopped = stopRequested();
  const keys = await callbackKeys(options);
  const isWanted = createFilter(options);
  async function receive(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await buffer(request);
    if (!(await isWanted(parsed(body)))) return void response.writeHead(204).end();
    const failure = checkCallback(body, request.headers, keys);
    // Without a key, the callback is neither right nor wrong.
    const checked = !failure?.startsWith('missing_secret');
    const wrong = checked && failure !== null;
    const forwarded = options.forwardTo === undefined || wrong ? null : await forward(options.forwardTo, request, body);
    const status = wrong ? 401 : (forwarded?.status ?? 204);
    console.log(options.json ? asJson(request, body, failure) : asLine(body, failure, status, checked));
    response.writeHead(status, forwarded?.headers ?? {}).end(forwarded?.body);
  }
  const server = createServer((request, response) => {
    // A sender that has gone is no reason to end.
    receive(request, response).catch((error: Error) => {
      console.error(`callback not received: ${error.message}`);
      response.destroy();
    });
  });
  await listenOn(server, options.port).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EADDRINUSE') throw error;
    console.error(`Port ${options.port} is taken, so a free one is used.`);
    return listenOn(server, 0);
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  try {
    const unregister = options.register ? await register(url, options, keys) : null;
    console.error(`Listening on ${url}. Ctrl-C ends it.`);
    if (keys.secret.length === 0) console.error(NO_SECRET);
    await stopped;
    await unregister?.();
  } finally {
    server.closeAllConnections();
    server.close();
  }
}

async function listenOn(server: Server, port: number): Promise<void> {
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
}

/** @returns whether a callback is of the named database or crew; without names, every callback is wanted */
function createFilter({ database, crew, ...options }: ListenOptions): (callback: Callback) => Promise<boolean> {
  if (database === undefined && crew === undefined) return async () => true;
  const client = crew === undefined ? undefined : findServer(options).client('crew_org');
  const executions = new Map<string, Promise<boolean>>();
  // Callbacks of crews do not name the crew.
  const isOfCrew = async (kickoff_id: string) => {
    const path = { crew: crew!, kickoff_id };
    // A server that is away names no crew: the callback is shown.
    const status = await client!.GET('/crews/{crew}/{kickoff_id}/status', { params: { path } }).catch(() => null);
    return status?.response.ok ?? true;
  };
  return async (callback) => {
    if (callback.database !== undefined) return callback.database === database;
    const { execution_id: id } = callback;
    if (client === undefined || id === undefined) return false;
    if (!executions.has(id)) executions.set(id, isOfCrew(id));
    return executions.get(id)!;
  };
}

async function register(url: string, options: ListenOptions, keys: CallbackKeys): Promise<() => Promise<void>> {
  const client = findServer(options).client();
  const { data: current } = await bodyOf(client.GET('/webhooks/indexing'));
  if (current.registered)
    throw new Error(`${current.url} is registered already. Delete it first, or listen without --register.`);
  const { data } = await bodyOf(client.POST('/webhooks/indexing', { body: { url, generate_signing_secret: true } }));
  keys.secret.push(data.signing_secret!);
  return async () => {
    const { data: latest } = await bodyOf(client.GET('/webhooks/indexing'));
    // Somebody may have registered another receiver since.
    if (latest.url === url) await bodyOf(client.DELETE('/webhooks/indexing'));
  };
}

async function forward(url: string, request: IncomingMessage, body: Buffer) {
  const entries = Object.entries(request.headers).filter(([name]) => !HOP_HEADERS.includes(name));
  try {
    const headers = Object.fromEntries(entries.map(([name, value]) => [name, String(value)]));
    const response = await fetch(url, { method: 'POST', headers, body: new Uint8Array(body) });
    const retryAfter = response.headers.get('retry-after');
    const passedOn: Record<string, string> = retryAfter === null ? {} : { 'retry-after': retryAfter };
    return { status: response.status, headers: passedOn, body: Buffer.from(await response.arrayBuffer()) };
  } catch (error) {
    const { cause } = error as { cause?: Error };
    console.error(`${url}: ${cause?.message ?? (error as Error).message}`);
    return { status: 502, headers: {}, body: Buffer.from('the receiver does not respond') };
  }
}

/** The states of what a callback is about. */
function tableOf(event: string): StateTable {
  if (event === 'indexing.status_changed') return INDEXING_STATUS_TABLE;
  if (event === 'async_job_completed') return JOB_STATUS_TABLE;
  return event === AUTHENTICATION_ENDED ? AUTHENTICATION_STATE_TABLE : CREW_TASK_STATUS_TABLE;
}

function asLine(body: Buffer, failure: string | null, status: number, checked: boolean): string {
  const { event = 'no event', status: state, test, ...ids } = parsed(body);
  const id = ids.id ?? ids.job_id ?? ids.execution_id ?? ids.authentication_id ?? '';
  const wrong = checked ? paint('red', `✗ ${failure}`) : paint('yellow', '? not verified');
  const verdict = failure === null ? paint('green', '✓') : wrong;
  const parts = [
    localTime(new Date().toISOString()),
    verdict,
    paint('bold', event),
    id,
    state && paintState(tableOf(event), state),
  ];
  return [...parts, test && 'test', paint('dim', `→ ${status}`)].filter(Boolean).join('  ');
}

function asJson({ headers }: IncomingMessage, body: Buffer, failure: string | null): string {
  return JSON.stringify({
    received_at: new Date(),
    verified: failure === null,
    failure,
    headers,
    body: body.toString(),
  });
}

function parsed(body: Buffer): Callback {
  try {
    return (JSON.parse(body.toString()) as Callback | null) ?? {};
  } catch {
    return {};
  }
}
