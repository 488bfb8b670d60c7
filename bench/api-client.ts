import { setTimeout as wait } from 'node:timers/promises';
import type { BenchInstance } from './instance.js';

/** @returns the answer's `data`. @throws Error with the answer's error */
// The shapes are the API's own.
// biome-ignore lint/suspicious/noExplicitAny: see above
export async function call(instance: BenchInstance, method: string, path: string, body?: unknown): Promise<any> {
  const form = body instanceof FormData;
  const response = await fetch(instance.apiUrl + path, {
    method,
    headers: {
      Authorization: `Bearer ${instance.key}`,
      'API-Version': '2',
      ...(body === undefined || form ? {} : { 'Content-Type': 'application/json' }),
    },
    body: body === undefined ? undefined : form ? body : JSON.stringify(body),
  });
  const answer = (await response.json()) as { data: unknown; error: { code: string; message: string } | null };
  if (answer.error) throw new Error(`${method} ${path}: ${answer.error.code}: ${answer.error.message}`);
  return answer.data;
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
