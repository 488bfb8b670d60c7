import { setTimeout as wait } from 'node:timers/promises';
import { chunkSections } from '../../domain/content/chunking.js';
import { createEmbedder } from '../../providers/embeddings/index.js';
import { readConfig } from '../../runtime/config.js';
import { embedderConfig } from '../../runtime/provider-config.js';
import { call } from '../support/api-client.js';
import type { BenchInstance } from '../support/instance.js';
import { runConcurrently } from '../support/measure.js';
import type { CountingReceiver } from '../support/receiver.js';
import type { Figure } from '../support/results.js';
import { measureUnits, type Units } from '../support/units.js';
import { createDatabase, ingest, ingestJson, noteText, proseText } from '../support/work.js';

/** Items by kind. All texts of a run are different. */
const KINDS = {
  // So many that their rate is not that of the first seconds, in which the code of a road is compiled.
  'notes of five words': { count: 1_000, text: noteText, arrival: 'one request' },
  'notes, a request each': { count: 1_500, text: noteText, arrival: 'a request each' },
  'notes, a form each': { count: 1_500, text: noteText, arrival: 'a form each' },
  'abstracts of 1,000 characters': { count: 480, text: (n: number) => proseText(n, 1_000), arrival: 'one request' },
  'texts of 8 KiB': { count: 60, text: (n: number) => proseText(n, 8 * 1024), arrival: 'one request' },
  'files of 8 KiB': { count: 60, text: (n: number) => proseText(n, 8 * 1024), arrival: 'files' },
} as const;
type Kind = (typeof KINDS)[keyof typeof KINDS];

/** Clients that send the items that arrive in a request or a form each. */
const CLIENTS = 16;

/** Items of each kind that are indexed before anything is measured. */
const WARM_UP = 10;

/**
 * Indexes the items, from the first request to the last webhook. Their chunks are embedded alone before and after it, because the
 * same work takes up to half as much processor time again on a machine that does something else.
 */
export async function measureIndexing(
  instance: BenchInstance,
  receiver: CountingReceiver,
  scale: number,
): Promise<Figure[]> {
  const figures: Figure[] = [];
  for (const [name, kind] of Object.entries(KINDS)) {
    const count = Math.max(1, Math.round(kind.count * scale));
    const before = await embedAlone(instance, kind, count);
    await index(instance, receiver, kind, -WARM_UP, WARM_UP);
    const { perSecond, cpu } = await index(instance, receiver, kind, count, count);
    const after = await embedAlone(instance, kind, count);
    const alone = {
      // As of twice the work in the sum of both times.
      perSecond: 2 / (1 / before.perSecond + 1 / after.perSecond),
      cpu: { embedder: (before.cpu.embedder! + after.cpu.embedder!) / 2 },
    };
    figures.push({ name: `${name}, embedding alone`, value: alone.perSecond, unit: 'a second', cpu: alone.cpu });
    const ratio = { to: 'embedding alone', value: perSecond / alone.perSecond };
    figures.push({ name, value: perSecond, unit: 'a second', ratio, cpu });
  }
  return figures;
}

async function embedAlone(instance: BenchInstance, { text }: Kind, count: number): Promise<Units> {
  const embedder = createEmbedder(embedderConfig(readConfig(instance.env)));
  if (!embedder) throw new Error('the benchmark needs the embedding model');
  const chunks = (from: number, to: number) =>
    Array.from({ length: to - from }, (_, n) => text(from + n)).flatMap((whole) =>
      [...chunkSections({ sections: [{ text: whole, headings: [] }] })].map((chunk) => chunk.text),
    );
  try {
    await embedder.embedDocuments(chunks(count, count + WARM_UP));
    const texts = chunks(0, count);
    const { perSecond, cpu } = await measureUnits(instance, count, () => embedder.embedDocuments(texts));
    return { perSecond, cpu: { embedder: cpu.embedder! } };
  } finally {
    await embedder.close();
  }
}

let databases = 0;

async function index(
  instance: BenchInstance,
  receiver: CountingReceiver,
  { text, arrival }: Kind,
  from: number,
  count: number,
): Promise<Units> {
  const database = `overview-${++databases}`;
  await createDatabase(instance, database);
  const entries = Array.from({ length: count }, (_, n) => ({ id: `item-${n}`, text: text(Math.abs(from + n)) }));
  const target = receiver.count() + count;
  return measureUnits(instance, count, async () => {
    if (arrival === 'files') await upload(instance, database, entries);
    else if (arrival === 'one request') await ingest(instance, database, 'memories', entries);
    else {
      const send = arrival === 'a form each' ? ingest : ingestJson;
      await runConcurrently(count, CLIENTS, (n) => send(instance, database, 'memories', [entries[n]!]));
    }
    await receiver.reached(target);
    const completed = { database, indexing_status: 'completed' } as const;
    while ((await instance.collections.items.countDocuments(completed)) < count) await wait(20);
  });
}

async function upload(instance: BenchInstance, database: string, entries: { id: string; text: string }[]) {
  const form = new FormData();
  form.set('database', database);
  form.set('document_metadata', JSON.stringify(entries.map(({ id }) => ({ id }))));
  for (const { id, text } of entries) form.append('documents', new Blob([text]), `${id}.txt`);
  await call(instance, 'POST', '/context/ingest', form);
}
