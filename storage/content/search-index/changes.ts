import { setTimeout as wait } from 'node:timers/promises';
import { inBatches } from '../../../domain/batches.js';
import type { IndexRow } from '../../../domain/content/search.js';
import { dimensionsIn } from './vectors.js';

/** Rows to add after the rows in `remove` have been deleted. */
export interface Change {
  rows: readonly IndexRow[];
  /** Chunk ids. */
  remove: readonly string[];
}

/** Rows in one commit: about 4 MB with their vectors, which take 50 ms to convert. */
const MAX_ROWS = 1_000;
const ONE_COMMIT = { count: Number.POSITIVE_INFINITY, size: MAX_ROWS, sizeOf: ({ rows }: Change) => rows.length };
/**
 * Minimum time between two commits of a table. Each commit adds a version and a fragment, and every query opens every
 * fragment; in OpenSearch it is a bulk request. 20 commits per second are enough for hundreds of small documents, because
 * waiting changes are merged.
 */
const COMMIT_SPACING_MS = 50;

interface WaitingChange extends Change {
  resolve(): void;
  reject(error: unknown): void;
}

/**
 * Merges the changes of a table that arrive during a commit into the next commit.
 * @param commit stores one merged change
 */
export function createChangeQueue(commit: (table: string, change: Change) => Promise<void>) {
  /** The tables that are written, or were a moment ago. */
  const tables = new Map<string, { waiting: WaitingChange[]; drained: Promise<void> }>();

  async function drain(table: string, waiting: WaitingChange[]): Promise<void> {
    while (waiting.length > 0) {
      const [batch = []] = inBatches(waiting, ONE_COMMIT);
      waiting.splice(0, batch.length);
      try {
        await commit(table, merge(batch));
        for (const change of batch) change.resolve();
      } catch (error) {
        for (const change of batch) change.reject(error);
      }
      await wait(COMMIT_SPACING_MS);
    }
    tables.delete(table);
  }

  return {
    /** Resolves when the change is stored. @throws EmbeddingError before it is merged, when its vectors differ in their dimensions */
    async push(table: string, change: Change): Promise<void> {
      if (change.rows.length === 0 && change.remove.length === 0) return;
      dimensionsIn(change.rows);
      await new Promise<void>((resolve, reject) => {
        const waiting = tables.get(table)?.waiting ?? [];
        waiting.push({ ...change, resolve, reject });
        if (!tables.has(table)) tables.set(table, { waiting, drained: drain(table, waiting) });
      });
    },
    /** Resolves when no change is waiting. */
    async idle(): Promise<void> {
      await Promise.all([...tables.values()].map(({ drained }) => drained));
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
