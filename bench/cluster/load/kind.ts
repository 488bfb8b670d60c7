import type { FaultLog } from '../faults.js';
import type { Random } from '../random.js';
import type { ClusterReceiver } from '../receiver.js';
import type { Requests } from '../requests.js';

/** What the kinds of load share. */
export interface LoadContext {
  requests: Requests;
  random: Random;
  faults: FaultLog;
  /** Creates a key of an organisation. */
  createKey(kind: 'api' | 'crew_org' | 'payment_secret', org: string): Promise<string>;
  /** Of the organisation `bench`. */
  key: string;
  /** Of the organisation `bench`: misbehaves at some first attempts, and accepts all others. */
  receiver: ClusterReceiver;
}

/** A kind of work that arrives at a steady pace. */
export interface LoadKind {
  name: string;
  /** Pause after each piece. */
  everyMs: number;
  /** Sends a piece of work, and remembers what was accepted. */
  send(): Promise<void>;
  accepted(): number;
  /** What was accepted and has neither ended nor been announced; asked until nothing is missing. */
  missing(): Promise<string[]>;
  /** What is wrong for good. Asked once, when nothing is missing any more. */
  violations?(): Promise<string[]> | string[];
  close?(): Promise<void>;
}

/** The database of the organisation `bench`. */
export const DATABASE = 'bench';

const STATUSES_AT_A_TIME = 100;

/** @returns the status of each item by its id */
export async function statusesOf(
  { requests, key }: Pick<LoadContext, 'requests' | 'key'>,
  ids: readonly string[],
  database = DATABASE,
): Promise<Map<string, { indexing_status: string; error_code: string | null }>> {
  const found = new Map<string, { indexing_status: string; error_code: string | null }>();
  for (let from = 0; from < ids.length; from += STATUSES_AT_A_TIME) {
    const some = ids.slice(from, from + STATUSES_AT_A_TIME);
    const path = `/context/status?database=${database}&ids=${some.map(encodeURIComponent).join(',')}`;
    const { body } = await requests.send('GET', path, { key, startsWork: false, allow: [404] });
    for (const status of body.data?.statuses ?? []) found.set(status.id, status);
  }
  return found;
}

/** @returns the ids of the items whose end has been announced, with the number of deliveries that said so */
export function announcedItems({ received }: ClusterReceiver): Map<string, Set<string>> {
  const announced = new Map<string, Set<string>>();
  for (const { body, webhookId, behaviour } of received) {
    if (behaviour !== 'accepts' || typeof body.id !== 'string') continue;
    announced.set(body.id, (announced.get(body.id) ?? new Set()).add(webhookId));
  }
  return announced;
}

/** @returns what the items with these ids lack: a completed status, a webhook, or both */
export async function missingItems(
  context: LoadContext,
  ids: readonly string[],
  { key = context.key, receiver = context.receiver } = {},
): Promise<string[]> {
  const announced = announcedItems(receiver);
  const silent = ids.filter((id) => !announced.has(id)).map((id) => `${id}: no webhook`);
  const statuses = await statusesOf({ requests: context.requests, key }, ids);
  const unfinished = ids.flatMap((id) => {
    const { indexing_status: status = 'unknown', error_code = null } = statuses.get(id) ?? {};
    return status === 'completed' ? [] : [`${id}: ${status}${error_code ? ` ${error_code}` : ''}`];
  });
  return [...silent, ...unfinished];
}

/** @returns the ids of items that more than one delivery announced: each version ends once */
export function announcedTwice(receiver: ClusterReceiver, ids: readonly string[]): string[] {
  const announced = announcedItems(receiver);
  const twice = ids.filter((id) => (announced.get(id)?.size ?? 0) > 1);
  return twice.map((id) => `${id} was announced by ${announced.get(id)!.size} deliveries`);
}

/** @returns whether a query by a word that only this item has finds it */
export async function isFound(context: LoadContext, id: string, word: string): Promise<boolean> {
  const query = { database: DATABASE, query: word, query_by: 'text', max_results: 5 };
  const options = { key: context.key, body: query, startsWork: false };
  const { body } = await context.requests.send('POST', '/query', options);
  return body.data.chunks.some((chunk: { source_id: string }) => chunk.source_id === id);
}
