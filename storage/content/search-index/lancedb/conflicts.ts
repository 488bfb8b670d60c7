import { setTimeout as wait } from 'node:timers/promises';

const ATTEMPTS = 8;
const FIRST_PAUSE_MS = 20;

/**
 * Repeats a commit that conflicts with another writer's. Writers commit optimistically; removals can conflict, appends cannot.
 * @param onConflict runs before the commit is repeated
 */
export async function retryConflicts<T>(commit: () => Promise<T>, onConflict?: () => Promise<void>): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await commit();
    } catch (error) {
      if (attempt === ATTEMPTS || !isConflict(error)) throw error;
      await onConflict?.();
      await wait(FIRST_PAUSE_MS * 2 ** (attempt - 1) * (0.5 + Math.random()));
    }
  }
}

/** LanceDB's errors have no codes in Node, only messages. */
function isConflict(error: unknown): boolean {
  return /commit conflict|concurrent (transaction|commit|writer)|preempted/i.test((error as Error).message);
}

/** Whether a table, or a file of an older version of it, is missing: another process has dropped or compacted the table. */
export function isMissing(error: unknown): boolean {
  return /not found/i.test((error as Error).message);
}

/** Whether an index is there already. */
export function isPresent(error: unknown): boolean {
  return /already exists/i.test((error as Error).message);
}
