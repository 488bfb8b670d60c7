import { randomUUID } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import type { FaultLog } from './faults.js';

/** How a request ended: a response, or the reason why there is none. */
export type Ending = 'accepted' | 'in progress' | '5xx' | 'dropped' | 'timed out' | 'rejected';

/** How long a client waits for a response. */
const TIMEOUT_MS = 30_000;
/** How long a client repeats a request before it gives up. */
const PATIENCE_MS = 5 * 60_000;
const PAUSE_MS = 500;

export interface RequestOptions {
  key: string;
  /** How the key is sent; default: as a bearer token. */
  header?: 'api-key';
  /** JSON, or a form that is made anew for each try. */
  body?: object | (() => FormData);
  /** A status other than 2xx that is an answer here, and not an error. */
  allow?: readonly number[];
  /** False: a read, which needs no key for repeats. */
  startsWork?: boolean;
}

export interface Answer {
  status: number;
  // biome-ignore lint/suspicious/noExplicitAny: the shapes are those of the API's schemas
  body: any;
  /** How often the request was sent. */
  tries: number;
}

/** A client that repeats a request with the same `Idempotency-Key` until it has an answer, and counts how each try ended. */
export function createRequests(apiUrl: string, faults: FaultLog) {
  const endings = new Map<Ending, number>();
  /** Milliseconds from the first try to the answer. */
  const waits: number[] = [];
  let slowest = { ms: 0, what: '' };
  const violations: string[] = [];
  const count = (ending: Ending) => endings.set(ending, (endings.get(ending) ?? 0) + 1);

  /** @throws Error when the request was rejected, or not accepted in five minutes */
  async function send(method: string, path: string, options: RequestOptions): Promise<Answer> {
    const headers = {
      ...(options.header === 'api-key' ? { 'api-key': options.key } : { Authorization: `Bearer ${options.key}` }),
      'API-Version': '2',
      ...(options.startsWork === false ? {} : { 'Idempotency-Key': randomUUID() }),
    };
    const begin = Date.now();
    for (let tries = 1; Date.now() < begin + PATIENCE_MS; tries++) {
      const from = Date.now();
      const outcome = await attempt(apiUrl + path, method, headers, options);
      count(outcome.ending);
      if (outcome.ending === 'accepted') {
        const ms = Date.now() - begin;
        waits.push(ms);
        if (ms > slowest.ms) slowest = { ms, what: `${method} ${path.split('?')[0]}` };
        return { ...outcome, tries };
      }
      const what = `${method} ${path.split('?')[0]}: ${outcome.status || outcome.ending} ${JSON.stringify(outcome.body)}`;
      if (outcome.ending === 'rejected') {
        violations.push(`a request was rejected: ${what}`);
        throw new Error(what);
      }
      if (outcome.ending !== 'in progress' && !faults.duringFault(from, Date.now()))
        violations.push(`a request failed without a fault: ${what}`);
      await wait(PAUSE_MS);
    }
    violations.push(`a request was not accepted in ${PATIENCE_MS / 60_000} minutes: ${method} ${path}`);
    throw new Error(`${method} ${path} was not accepted`);
  }
  return {
    send,
    endings,
    waits,
    violations,
    /** The request that waited longest for its answer, as method and path; empty without requests. */
    slowest: () => slowest.what,
  };
}

export type Requests = ReturnType<typeof createRequests>;

async function attempt(
  url: string,
  method: string,
  headers: Record<string, string>,
  { body, allow = [] }: RequestOptions,
): Promise<{ ending: Ending; status: number; body: unknown }> {
  const content =
    body === undefined
      ? {}
      : typeof body === 'function'
        ? { body: body() as FormData }
        : { body: JSON.stringify(body), headers: { ...headers, 'Content-Type': 'application/json' } };
  try {
    const response = await fetch(url, { method, headers, ...content, signal: AbortSignal.timeout(TIMEOUT_MS) });
    const text = await response.text();
    const json = response.headers.get('content-type')?.includes('json') ? JSON.parse(text) : text;
    return { ending: endingOf(response.status, json, allow), status: response.status, body: json };
  } catch (error) {
    const { name, message, cause } = error as Error;
    return {
      ending: name === 'TimeoutError' ? 'timed out' : 'dropped',
      status: 0,
      body: `${message} ${cause instanceof Error ? cause.message : ''}`,
    };
  }
}

function endingOf(status: number, body: unknown, allow: readonly number[]): Ending {
  if ((status >= 200 && status < 300) || allow.includes(status)) return 'accepted';
  // Each service has its own error shape, and not all of them have a code.
  if (status === 409 && JSON.stringify(body).includes('this Idempotency-Key is in progress')) return 'in progress';
  return status >= 500 || status === 429 ? '5xx' : 'rejected';
}
