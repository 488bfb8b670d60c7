import { setTimeout as wait } from 'node:timers/promises';

const ATTEMPTS = 8;
const FIRST_PAUSE_MS = 20;

/** Writers of one table commit optimistically; who comes second does it again. Appends never conflict, removals may. */
export async function retryConflicts<T>(commit: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await commit();
    } catch (error) {
      if (attempt === ATTEMPTS || !isConflict(error)) throw error;
      await wait(FIRST_PAUSE_MS * 2 ** (attempt - 1) * (0.5 + Math.random()));
    }
  }
}

/** LanceDB gives no error codes to Node, only sentences. */
function isConflict(error: unknown): boolean {
  return /commit conflict|concurrent (transaction|commit|writer)|preempted/i.test((error as Error).message);
}

/** A table, or a file that only an older version of it had: dropped or compacted away by another process. */
export function isMissing(error: unknown): boolean {
  return /not found/i.test((error as Error).message);
}
