import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { acquireProcessLock, type ProcessLock } from './process-lock.js';

/** Published in the lock file once the instance is ready. */
export interface InstanceNote {
  readonly api_url: string;
}

/** Held while Postback runs in a data folder. */
export type DataFolderLock = ProcessLock<InstanceNote>;

/** Another Postback process uses the data folder. */
export class AlreadyRunningError extends Error {
  constructor(
    readonly pid: number,
    readonly apiUrl: string | undefined,
  ) {
    super(`Postback is already running in this folder (process ${pid}${apiUrl ? `, ${apiUrl}` : ''}).`);
    this.name = 'AlreadyRunningError';
  }
}

/**
 * Makes this process the only instance that uses a data folder. Takes over the lock of a process that is gone.
 * @throws AlreadyRunningError when a running process holds the lock
 */
export function lockDataFolder(dataDir: string): DataFolderLock {
  mkdirSync(dataDir, { recursive: true });
  const result = acquireProcessLock<InstanceNote>(join(dataDir, 'instance.json'));
  if ('holder' in result) throw new AlreadyRunningError(result.holder.pid, result.holder.note?.api_url);
  return result.lock;
}
