import { setTimeout as wait } from 'node:timers/promises';
import type { IndexRow } from '../../../domain/content/search.js';

/** Rows to add after the rows in `remove` have been deleted. */
export interface Change {
  rows: readonly IndexRow[];
  /** Chunk ids. */
  remove: readonly string[];
}

/** Rows in one commit: about 4 MB with their vectors, which take 50 ms to convert. */
const MAX_ROWS = 1_000;
/**
 * Minimum time between two commits of a table. Each commit adds a version and a fragment, and every query opens every
 * fragment. 20 commits per second are enough for hundreds of small documents, because waiting changes are merged.
 */
const COMMIT_SPACING_MS = 50;

interface WaitingChange extends Change {
  resolve(): void;
  reject(error: unknown): void;
}

/**
 * Merges the changes that arrive during a commit into the next commit.
 * @param commit stores one merged change
 */
export function createChangeQueue(commit: (change: Change) => Promise<void>) {
  let waiting: WaitingChange[] = [];
  let draining: Promise<void> | undefined;
  let lastCommit = 0;

  async function drain(): Promise<void> {
    while (waiting.length > 0) {
      const pause = lastCommit + COMMIT_SPACING_MS - performance.now();
      if (pause > 0) await wait(pause);
      const batch = takeBatch();
      try {
        await commit(merge(batch));
        for (const change of batch) change.resolve();
      } catch (error) {
        for (const change of batch) change.reject(error);
      }
      lastCommit = performance.now();
    }
    draining = undefined;
  }

  function takeBatch(): WaitingChange[] {
    let rows = 0;
    let count = 0;
    while (count < waiting.length && (count === 0 || rows + waiting[count]!.rows.length <= MAX_ROWS)) {
      rows += waiting[count]!.rows.length;
      count += 1;
    }
    const batch = waiting.slice(0, count);
    waiting = waiting.slice(count);
    return batch;
  }

  return {
    /** Resolves when the change is stored. */
    push(change: Change): Promise<void> {
      return new Promise((resolve, reject) => {
        waiting.push({ ...change, resolve, reject });
        draining ??= drain();
      });
    },
    /** Resolves when no change is waiting. */
    async idle(): Promise<void> {
      await draining;
    },
  };
}

/** @returns one change with the same effect as these in order: a removal also deletes rows that were added before it */
function merge(changes: readonly Change[]): Change {
  let rows: IndexRow[] = [];
  const remove = new Set<string>();
  for (const change of changes) {
    if (change.remove.length > 0) {
      const removed = new Set(change.remove);
      if (rows.length > 0) rows = rows.filter((row) => !removed.has(row.chunk_id));
      for (const id of removed) remove.add(id);
    }
    for (const row of change.rows) rows.push(row);
  }
  return { rows, remove: [...remove] };
}
