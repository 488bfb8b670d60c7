import { setTimeout as wait } from 'node:timers/promises';
import type { IndexRow } from '../../../domain/content/search.js';

/** Rows to add after others have been taken out. */
export interface Change {
  rows: readonly IndexRow[];
  /** Chunk ids. */
  remove: readonly string[];
}

/** Rows of one commit: about 20 MB with their vectors. */
const MAX_ROWS = 5_000;
/**
 * Least time between two commits of a table. Each commit is a version and a fragment, and every query opens every
 * fragment; 20 a second carry hundreds of small documents, because those that come meanwhile ride together.
 */
const COMMIT_SPACING_MS = 50;

interface Rider extends Change {
  resolve(): void;
  reject(error: unknown): void;
}

/**
 * Lets the changes that arrive while a commit is under way ride together in the next one.
 * @param commit stores one merged change
 */
export function createChangeQueue(commit: (change: Change) => Promise<void>) {
  let waiting: Rider[] = [];
  let draining: Promise<void> | undefined;
  let lastCommit = 0;

  async function drain(): Promise<void> {
    while (waiting.length > 0) {
      const pause = lastCommit + COMMIT_SPACING_MS - performance.now();
      if (pause > 0) await wait(pause);
      const riders = board();
      try {
        await commit(merge(riders));
        for (const rider of riders) rider.resolve();
      } catch (error) {
        for (const rider of riders) rider.reject(error);
      }
      lastCommit = performance.now();
    }
    draining = undefined;
  }

  function board(): Rider[] {
    let rows = 0;
    let count = 0;
    while (count < waiting.length && (count === 0 || rows + waiting[count]!.rows.length <= MAX_ROWS)) {
      rows += waiting[count]!.rows.length;
      count += 1;
    }
    const riders = waiting.slice(0, count);
    waiting = waiting.slice(count);
    return riders;
  }

  return {
    /** Resolves when the change is stored. */
    push(change: Change): Promise<void> {
      return new Promise((resolve, reject) => {
        waiting.push({ ...change, resolve, reject });
        draining ??= drain();
      });
    },
    /** Resolves when nothing waits any more. */
    async idle(): Promise<void> {
      await draining;
    },
  };
}

/** One change with the effect of all, one after the other: a removal also takes the rows that came before it. */
function merge(changes: readonly Change[]): Change {
  let rows: IndexRow[] = [];
  const remove = new Set<string>();
  for (const change of changes) {
    if (change.remove.length > 0) {
      const gone = new Set(change.remove);
      if (rows.length > 0) rows = rows.filter((row) => !gone.has(row.chunk_id));
      for (const id of gone) remove.add(id);
    }
    for (const row of change.rows) rows.push(row);
  }
  return { rows, remove: [...remove] };
}
