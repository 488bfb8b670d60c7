import { randomUUID } from 'node:crypto';
import type { Logger } from 'pino';
import type { TaskQueue } from '../domain/workflow-contract.js';
import { type Processes, type ProcessRole, SIGN_MS } from '../storage/processes.js';
import { onFatalError } from './process.js';

/**
 * Shows that this process runs, so that the API can say when no worker does, and ends without being asked to are counted.
 * @param sweep starts the work that an API has left behind
 * @returns a function to call when the process ends as it was asked to
 */
export async function showSigns(
  processes: Pick<Processes, 'ended' | 'seen'>,
  role: ProcessRole,
  queues: readonly TaskQueue[],
  log: Pick<Logger, 'warn'>,
  sweep: () => Promise<void>,
): Promise<() => Promise<void>> {
  const self = { _id: randomUUID(), role, queues: [...queues] };
  const sign = async () => {
    try {
      if (await processes.seen(self)) await sweep();
    } catch (error) {
      log.warn({ err: error }, 'sign of this process not stored, or lost work not looked for');
    }
  };
  await sign();
  const timer = setInterval(sign, SIGN_MS);
  onFatalError(() => processes.ended(self, 'error'));
  return async () => {
    clearInterval(timer);
    await processes.ended(self, null).catch(() => undefined);
  };
}
