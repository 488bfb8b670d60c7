import { fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { defaultCacheDir, obtainEmbeddingModel } from '../../dev-stack/index.js';
import { SEARCH_ENGINES, type SearchEngine } from '../../domain/content/index-generations.js';
import { createEmbedder } from '../../providers/embeddings/index.js';
import { type Figure, printFigures, writeResult } from '../support/results.js';
import { writeVectors } from './data.js';
import type { Run } from './measure.js';

const SIZES = [10_000, 100_000];
const CHILD = fileURLToPath(new URL('./child.js', import.meta.url));
const NAMES: Record<SearchEngine, string> = { lancedb: 'LanceDB', opensearch: 'OpenSearch' };

/**
 * Measures both engines of the search index side by side: the same chunks and questions, one engine after the other.
 * @param collection the folder of a test collection; generated chunks fill the index up
 */
export async function search(collection: string): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'postback-search-'));
  const groups: Record<string, Figure[]> = {};
  try {
    const vectors = join(folder, 'vectors.json');
    await embed(vectors, collection);
    for (const chunks of SIZES) {
      const before = readSteal();
      const byEngine: Figure[][] = [];
      for (const engine of SEARCH_ENGINES) {
        const own = join(folder, `${engine}-${chunks}`);
        mkdirSync(own);
        byEngine.push(await inChild({ engine, chunks, folder: own, vectors, collection }));
        printFigures(`${chunks} chunks, ${NAMES[engine]}`, byEngine.at(-1)!);
        rmSync(own, { recursive: true });
      }
      const steal = { name: 'processor time that other machines took meanwhile', value: stealSince(before), unit: '%' };
      groups[`${chunks.toLocaleString('en')} chunks`] = [...sideBySide(byEngine), steal];
      writeResult('search', basename(collection), groups);
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function embed(file: string, collection: string): Promise<void> {
  const model = await obtainEmbeddingModel({
    cacheDir: defaultCacheDir(process.env),
    env: process.env,
    log: console.error,
  });
  if ('unavailable' in model) throw new Error(model.unavailable);
  const { modelPath, tokenizerPath } = model;
  const embedder = createEmbedder({ kind: 'local', modelPath, tokenizerPath })!;
  await writeVectors(file, collection, embedder).finally(() => embedder.close());
}

async function inChild(run: Run): Promise<Figure[]> {
  const child = fork(CHILD);
  child.send(run);
  const [result] = (await Promise.race([
    once(child, 'message'),
    once(child, 'exit').then(([code]) => [{ error: `the process ended with ${code}` }]),
  ])) as [{ figures?: Figure[]; error?: string }];
  if (!result.figures) throw new Error(`${run.engine}: ${result.error}`);
  return result.figures;
}

/** Each figure of the first engine, followed by the same of the others as a share of it. */
function sideBySide([first = [], ...others]: readonly Figure[][]): Figure[] {
  return first.flatMap((figure, at) => [
    { ...figure, name: `${figure.name}: ${NAMES[SEARCH_ENGINES[0]]}` },
    ...others.map((figures, n) => ({
      ...figures[at]!,
      name: `${figure.name}: ${NAMES[SEARCH_ENGINES[n + 1]!]}`,
      ratio: { to: NAMES[SEARCH_ENGINES[0]], value: figures[at]!.value / figure.value },
    })),
  ]);
}

/** Ticks of all processors so far, and those of them that the hypervisor gave to other machines; from Linux's /proc. */
function readSteal(): { all: number; steal: number } {
  try {
    const [line = ''] = readFileSync('/proc/stat', 'utf8').split('\n');
    const ticks = line.split(/\s+/).slice(1, 9).map(Number);
    return { all: ticks.reduce((sum, count) => sum + count, 0), steal: ticks[7] ?? 0 };
  } catch {
    return { all: Number.NaN, steal: Number.NaN };
  }
}

function stealSince(before: ReturnType<typeof readSteal>): number {
  const now = readSteal();
  return (100 * (now.steal - before.steal)) / (now.all - before.all);
}
