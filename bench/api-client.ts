import { setTimeout as wait } from 'node:timers/promises';
import type { BenchInstance } from './instance.js';

type Caller = Pick<BenchInstance, 'apiUrl' | 'key'>;

/** @returns the answer's body. @throws Error with the status and the body of one that is no success */
// biome-ignore lint/suspicious/noExplicitAny: the shapes are the API's own
export async function request({ apiUrl, key }: Caller, method: string, path: string, body?: object): Promise<any> {
  const form = body instanceof FormData;
  const response = await fetch(apiUrl + path, {
    method,
    headers: {
      Authorization: `Bearer ${key}`,
      'API-Version': '2',
      ...(body === undefined || form ? {} : { 'Content-Type': 'application/json' }),
    },
    ...(body && { body: form ? body : JSON.stringify(body) }),
  });
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`);
  return response.json();
}

/** The same for the content service. @returns the `data` of its envelope */
// biome-ignore lint/suspicious/noExplicitAny: see above
export async function call(caller: Caller, method: string, path: string, body?: object): Promise<any> {
  return (await request(caller, method, path, body)).data;
}

export async function provision(instance: BenchInstance, database: string): Promise<void> {
  await call(instance, 'POST', '/databases', { database });
  while (!(await call(instance, 'GET', `/databases/status?database=${database}`)).infra.ready_for_ingestion)
    await wait(100);
}

const WORDS =
  'the flow pressure of a boundary layer over wing body and shock heat transfer at high speed in air was measured for several angles while the tunnel model turned'.split(
    ' ',
  );

/** Memories of about 2 KB of words in some order, all different. */
export async function ingestMemories(
  instance: BenchInstance,
  database: string,
  prefix: string,
  count: number,
): Promise<void> {
  const memories = Array.from({ length: count }, (_, n) => {
    let text = `Note ${n}.`;
    for (let at = 0; text.length < 2048; at++) {
      text += ` ${WORDS[(n * 7 + at * 11 + ((at * at) % 13)) % WORDS.length]}${at % 14 === 13 ? '.' : ''}`;
    }
    return { id: `${prefix}-${n}`, text };
  });
  const form = new FormData();
  form.set('database', database);
  form.set('memories', JSON.stringify(memories));
  await call(instance, 'POST', '/context/ingest', form);
}
