import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as wait } from 'node:timers/promises';
import { type ApiAccess, call } from './support/api-client.js';
import { type ProcessMemory, readProcessTree, sharedOnce } from './support/process-memory.js';
import { createDatabase, ingest, proseText } from './support/work.js';

/** How long the product rests before its idle memory is read. */
const REST_MS = 20_000;
const SAMPLE_MS = 500;
const ABSTRACTS = 1_400;
const DATABASE = 'memory';

/** Prints the resident memory of each process of `npm start`: idle, at work on 1,400 abstracts, and idle again. */
export async function memory(count = String(ABSTRACTS)): Promise<void> {
  const dataDir = mkdtempSync(join(tmpdir(), 'postback-bench-'));
  const product = spawn('npm', ['start'], {
    env: { ...process.env, POSTBACK_DATA_DIR: dataDir, POSTBACK_API_PORT: '0', POSTBACK_RATE_LIMIT_BURST: '0' },
    // In its own process group, so that Ctrl-C reaches it through this process only.
    detached: true,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  try {
    const access = await whenReady(product, dataDir);
    await wait(REST_MS);
    show('idle after the start', readProcessTree(product.pid!));
    await createDatabase(access, DATABASE);
    const indexed = indexAbstracts(access, Number(count));
    show(`at its largest while ${count} abstracts are indexed`, await largest(product.pid!, indexed));
    await wait(REST_MS);
    show('idle after that', readProcessTree(product.pid!));
  } finally {
    const started = readProcessTree(product.pid!).findLast(({ name }) => name === 'start');
    // npm would pass the signal on and end at once.
    process.kill(started?.pid ?? product.pid!, 'SIGTERM');
    if (product.exitCode === null) await once(product, 'exit');
    rmSync(dataDir, { recursive: true, force: true });
  }
}

async function whenReady(product: ChildProcess, dataDir: string): Promise<ApiAccess> {
  await new Promise<void>((resolve) => {
    createInterface({ input: product.stdout! }).on('line', (line) => line.includes('Postback is ready') && resolve());
  });
  const { api_url: apiUrl, keys } = JSON.parse(readFileSync(join(dataDir, 'dev.json'), 'utf8'));
  return { apiUrl, key: keys.api };
}

async function indexAbstracts(access: ApiAccess, count: number): Promise<void> {
  const entries = Array.from({ length: count }, (_, n) => ({ id: `abstract-${n}`, text: proseText(n, 1_000) }));
  await ingest(access, DATABASE, 'memories', entries);
  const ids = entries.map(({ id }) => id);
  for (let from = 0; from < count; ) {
    const page = ids.slice(from, from + 50);
    const { statuses } = await call(access, 'GET', `/context/status?database=${DATABASE}&ids=${page}`);
    const done = statuses.every(({ indexing_status: status }: { indexing_status: string }) => status === 'completed');
    if (done) from += page.length;
    else await wait(SAMPLE_MS);
  }
}

/** Samples the processes until the work is done. @returns the sample with the largest sum */
async function largest(pid: number, work: Promise<void>): Promise<ProcessMemory[]> {
  let done = false;
  const finished = work.finally(() => {
    done = true;
  });
  let found: ProcessMemory[] = [];
  while (!done) {
    const sample = readProcessTree(pid);
    if (sharedOnce(sample) > sharedOnce(found)) found = sample;
    await Promise.race([wait(SAMPLE_MS), finished]);
  }
  await finished;
  return found;
}

function show(title: string, processes: readonly ProcessMemory[]): void {
  const sum = processes.reduce((total, { rss }) => total + rss, 0);
  const once = sharedOnce(processes).toFixed(0);
  console.log(
    `\n${title}: ${once} MiB, shared pages counted once (the sum of resident memory is ${sum.toFixed(0)} MiB)`,
  );
  for (const { name, rss, anonymous } of processes) {
    console.log(
      `  ${name.padEnd(12)} ${rss.toFixed(0).padStart(5)} MiB, ${anonymous.toFixed(0).padStart(5)} not backed by files`,
    );
  }
}
