import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { type LockFile, takeLockFile } from './lock-file.js';

export interface InstanceNote {
  readonly api_url: string;
}

/** Held for as long as Postback runs in a folder; `announce` tells later starts where it answers. */
export type InstanceLock = LockFile<InstanceNote>;

/** Postback runs already in this folder. */
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
 * Makes this process the one instance of a data folder. The lock of a process that is gone is taken over.
 * Throws {@link AlreadyRunningError} when another holds it.
 */
export function acquireInstanceLock(dataDir: string): InstanceLock {
  mkdirSync(dataDir, { recursive: true });
  const taken = takeLockFile<InstanceNote>(join(dataDir, 'instance.json'));
  if ('holder' in taken) throw new AlreadyRunningError(taken.holder.pid, taken.holder.note?.api_url);
  return taken.lock;
}
