import { setTimeout as wait } from 'node:timers/promises';
import { createEmbedder } from '../providers/embeddings/index.js';
import { readConfig } from '../runtime/config.js';
import { embedderConfig } from '../runtime/provider-config.js';
import { call } from './support/api-client.js';
import { type BenchInstance, startBenchInstance } from './support/instance.js';
import { durationMs, runConcurrently } from './support/measure.js';
import { type CountingReceiver, startCountingReceiver } from './support/receiver.js';
import { createDatabase, ingest, noteText, proseText } from './support/work.js';

/** Texts by kind. All texts of a run are different. */
const KINDS = {
  notes: { count: 300, warmUp: 40, text: (n: number) => noteText(n) },
  abstracts: { count: 90, warmUp: 10, text: (n: number) => proseText(n, 1_000) },
} as const;
type Kind = keyof typeof KINDS;

/** How items arrive: in requests of so many. */
const REQUESTS = { 'in one request': 5_000, 'one by one': 1 } as const;

/** Clients that each send one request at a time. */
const CLIENTS = 16;

interface Result {
  perSecond: number;
  /** Milliseconds of a core for each item, by process. */
  cpu: Record<string, number>;
}

/**
 * Measures notes of five words and abstracts of 1,000 characters, indexed and announced, beside the embedding of the same
 * texts alone, in one run.
 */
export async function indexing(): Promise<void> {
  const instance = await startBenchInstance();
  const receiver = await startCountingReceiver();
  try {
    const alone = await embeddingAlone(instance);
    let round = 0;
    for (const announced of [false, true]) {
      if (announced) await call(instance, 'POST', '/webhooks/indexing', { url: receiver.url });
      for (const [arrival, size] of Object.entries(REQUESTS)) {
        for (const kind of Object.keys(KINDS) as Kind[]) {
          round += 1;
          const { count, warmUp } = KINDS[kind];
          const run = { kind, size, ...(announced ? { receiver } : {}) };
          await index(instance, { ...run, database: `warm-${round}`, count: warmUp });
          const { perSecond, cpu } = await index(instance, { ...run, database: `items-${round}`, count });
          const total = Object.values(cpu).reduce((sum, ms) => sum + ms, 0);
          const parts = Object.entries(cpu).map(([name, ms]) => `${name} ${ms.toFixed(1)}`);
          console.log(
            `${kind.padEnd(9)} ${arrival.padEnd(14)} ${announced ? 'and announced' : 'only indexed '}  ` +
              `${perSecond.toFixed(1).padStart(6)} /s   ratio to embedding alone ${(perSecond / alone[kind].perSecond).toFixed(2)}   ` +
              `${total.toFixed(1)} ms of CPU each (${parts.join(', ')}; ` +
              `embedding alone takes ${(alone[kind].cpu.embedding! / total).toFixed(2)} of it)`,
          );
        }
      }
    }
  } finally {
    await receiver.close();
    await instance.stop();
  }
}

/** Embeds the same number of texts with the embedding process of the instance. */
async function embeddingAlone({ env, processorTimes }: BenchInstance): Promise<Record<Kind, Result>> {
  const embedder = createEmbedder(embedderConfig(readConfig(env)));
  if (!embedder) throw new Error('the benchmark needs the embedding model');
  const results: Partial<Record<Kind, Result>> = {};
  for (const [kind, { count, warmUp, text }] of Object.entries(KINDS)) {
    const texts = (length: number, from: number) => Array.from({ length }, (_, n) => text(from + n));
    await embedder.embedDocuments(texts(warmUp, 0));
    const before = await processorTimes();
    const ms = await durationMs(() => embedder.embedDocuments(texts(count, warmUp)));
    const used = (await processorTimes()).embedder! - before.embedder!;
    const result = { perSecond: count / (ms / 1000), cpu: { embedding: used / count } };
    results[kind as Kind] = result;
    console.log(
      `${kind.padEnd(9)} embedding alone               ${result.perSecond.toFixed(1).padStart(6)} /s   ${result.cpu.embedding.toFixed(1)} ms of CPU each`,
    );
  }
  await embedder.close();
  return results as Record<Kind, Result>;
}

/** Ingests texts and waits until all are completed, and their webhooks received when there is a receiver. */
async function index(
  instance: BenchInstance,
  {
    kind,
    size,
    database,
    count,
    receiver,
  }: { kind: Kind; size: number; database: string; count: number; receiver?: CountingReceiver },
): Promise<Result> {
  await createDatabase(instance, database);
  const entries = Array.from({ length: count }, (_, n) => ({ id: `${kind}-${n}`, text: KINDS[kind].text(n) }));
  const target = (receiver?.count() ?? 0) + count;
  const before = await instance.processorTimes();
  const ms = await durationMs(async () => {
    await runConcurrently(Math.ceil(count / size), CLIENTS, (n) =>
      ingest(instance, database, 'memories', entries.slice(n * size, (n + 1) * size)),
    );
    const completed = { database, indexing_status: 'completed' } as const;
    while ((await instance.collections.items.countDocuments(completed)) < count) await wait(50);
    await receiver?.reached(target);
  });
  const after = await instance.processorTimes();
  const cpu = Object.entries(after).map(([name, value]) => [name, (value - before[name]!) / count]);
  return { perSecond: count / (ms / 1000), cpu: Object.fromEntries(cpu) };
}
