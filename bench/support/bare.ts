import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { Client } from '@temporalio/client';
import type { BenchInstance } from './instance.js';
import { perSecond, runConcurrently } from './measure.js';

/** Workflows started at the same time; more would only queue in the server. */
export const CONCURRENCY = 50;

/**
 * Runs workflows with one activity that does nothing, on a worker with the delivery worker's concurrency.
 * @returns workflows per second
 */
export async function measureBare(instance: BenchInstance, temporal: Client, count = 400): Promise<number> {
  const worker = fork(fileURLToPath(new URL('./bare-worker.js', import.meta.url)), { env: instance.env });
  await once(worker, 'message');
  const run = (n: number) =>
    temporal.workflow.execute('bare', { taskQueue: 'bare', workflowId: `bare/${process.pid}/${n}`, args: [] });
  await runConcurrently(20, CONCURRENCY, (n) => run(-1 - n));
  const rate = await perSecond(count, () => runConcurrently(count, CONCURRENCY, run));
  worker.disconnect();
  await once(worker, 'exit');
  return rate;
}
