import { setTimeout as wait } from 'node:timers/promises';
import { type ApiAccess, call, request } from './api-client.js';

/** Creates a database and waits until it is ready for ingestion. */
export async function createDatabase(access: ApiAccess, database: string, settings: object = {}): Promise<void> {
  await call(access, 'POST', '/databases', { database, ...settings });
  const status = `/databases/status?database=${database}`;
  while (!(await call(access, 'GET', status)).infra.ready_for_ingestion) await wait(100);
}

/**
 * Sends one ingest request, a form; the items are indexed later.
 * @param field `memories` or `app_knowledge`
 */
export async function ingest(
  access: ApiAccess,
  database: string,
  field: string,
  entries: readonly object[],
): Promise<void> {
  const form = new FormData();
  form.set('database', database);
  form.set(field, JSON.stringify(entries));
  await call(access, 'POST', '/context/ingest', form);
}

/** The same as a JSON body, of up to 1 MiB. */
export async function ingestJson(
  access: ApiAccess,
  database: string,
  field: string,
  entries: readonly object[],
): Promise<void> {
  await call(access, 'POST', '/context/ingest', { database, [field]: entries });
}

/** Ingests generated memories of about 2 KB with the ids `<prefix>-0`, `<prefix>-1`, …; all texts are different. */
export async function ingestMemories(
  access: ApiAccess,
  database: string,
  prefix: string,
  count: number,
): Promise<void> {
  const memories = Array.from({ length: count }, (_, n) => ({ id: `${prefix}-${n}`, text: memoryText(n) }));
  await ingest(access, database, 'memories', memories);
}

const WORDS =
  'the flow pressure of a boundary layer over wing body and shock heat transfer at high speed in air was measured for several angles while the tunnel model turned'.split(
    ' ',
  );

/** @returns about 2 KB of prose */
export const memoryText = (n: number): string => proseText(n, 2048);

/** @returns a text of five words */
export function noteText(n: number): string {
  const word = (at: number) => WORDS[(n * 7 + at * 11) % WORDS.length];
  return `Note ${n} ${word(1)} ${word(2)} ${word(n % 5)}.`;
}

/** @returns at least so many characters of prose */
export function proseText(n: number, characters: number): string {
  let text = `Note ${n}.`;
  for (let at = 0; text.length < characters; at++) {
    text += ` ${WORDS[(n * 7 + at * 11 + ((at * at) % 13)) % WORDS.length]}${at % 14 === 13 ? '.' : ''}`;
  }
  return text;
}

/** Submits an AI job whose provider does almost nothing. @returns its id */
export async function submitShortJob(access: ApiAccess, webhook_receiver?: string): Promise<string> {
  const job = {
    model: 'text/language_detection/eld',
    input: { text: 'The lamp was lit at dusk, and the keeper was content.' },
    ...(webhook_receiver === undefined ? {} : { webhook_receiver }),
  };
  return (await request(access, 'POST', '/v3/ai/async', job)).job_id;
}
