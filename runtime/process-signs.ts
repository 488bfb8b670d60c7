import { randomUUID } from 'node:crypto';
import type { Logger } from 'pino';
import type { TaskQueue } from '../domain/workflow-contract.js';
import { ALIVE_MS, type Processes, type ProcessRole } from '../storage/processes.js';
import { onFatalError } from './process.js';

/** Three signs may be late before a process counts as lost. */
const EVERY_MS = ALIVE_MS / 3;

/**
 * Shows that this process runs, so that the API can say when no worker does, and ends without being asked to are counted.
 * @returns a function to call when the process ends as it was asked to
 */
export async function showSigns(
  processes: Pick<Processes, 'ended' | 'seen'>,
  role: ProcessRole,
  queues: readonly TaskQueue[],
  log: Pick<Logger, 'warn'>,
): Promise<() => Promise<void>> {
  const self = { _id: randomUUID(), role, queues: [...queues] };
  const sign = () => processes.seen(self).catch((error) => log.warn({ err: error }, 'sign of this process not stored'));
  await sign();
  const timer = setInterval(sign, EVERY_MS);
  onFatalError(() => processes.ended(self, 'error'));
  return async () => {
    clearInterval(timer);
    await processes.ended(self, null).catch(() => undefined);
  };
}
