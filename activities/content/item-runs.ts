import { hasEnded } from '../../domain/content/states.js';
import type { ItemRef } from '../../domain/content/workflow-contract.js';
import { ExtractionError } from '../../domain/extraction.js';
import { createSemaphore } from '../../domain/semaphore.js';
import { ProcessLostError } from '../../providers/isolation/protocol.js';
import type { ItemRecord, ItemStep, Items } from '../../storage/content/items.js';
import { superseded } from './item-failures.js';

/** Runs of one step that may end with the process that read the item, which read nothing else. */
const MAX_CRASHES = 3;
/** How often a run checks that its version has been neither deleted nor replaced. */
const CHECK_MS = 5_000;

type Run = Pick<ItemRecord, 'indexing_status'> & { step: ItemStep };

export type RunsAlone = ReturnType<typeof createRunsAlone>;

/**
 * Items whose run was lost with its worker run one after the other: one of them may be the cause. They are not blamed for it,
 * because the worker may have been killed from outside; Temporal repeats them after growing pauses. Each organisation and step
 * has a place of its own, so that a note does not wait for the long files that were lost with it. All activities of a process
 * that index items share it.
 */
export function createRunsAlone() {
  const places = createSemaphore({ perOwner: 1 });
  return {
    /** @throws the signal's reason when it was aborted while the item waited; an error of the work */
    async run<T>(org: string, step: ItemStep, cancelled: AbortSignal, work: () => Promise<T>): Promise<T> {
      const release = await places.acquire(cancelled, `${org}/${step}`);
      return await work().finally(release);
    },
  };
}

/**
 * Counts the runs of each item that ended with the process that read it: an item that kills its process must not do so again and
 * again. Temporal's attempt number cannot count them, because it also counts storage errors and lost workers.
 * @returns a function that runs a step of an item. The signal of its work aborts when the activity is cancelled, or the version was
 * deleted or replaced. It throws Superseded; ExtractionError E2003 when its process ended three times; an error of the work
 */
export function createItemRuns(
  items: Pick<Items, 'beginRuns' | 'countCrashes' | 'endRuns' | 'isCurrent' | 'listVersions'>,
  alone: RunsAlone,
) {
  return async <T>(
    ref: ItemRef,
    { step, indexing_status: status }: Run,
    cancelled: AbortSignal,
    work: (item: ItemRecord, signal: AbortSignal) => Promise<T>,
  ): Promise<T> => {
    const [item] = await items.listVersions([ref]);
    if (!item || hasEnded(item)) throw superseded();
    const begin = async () => {
      if ((await items.beginRuns([ref], { step, status })) === 0) throw superseded();
      return untilEnd(ref, cancelled, (signal) => work(item, signal));
    };
    if (item.runs?.step !== step) return begin();
    if ((item.runs.crashed ?? 0) >= MAX_CRASHES)
      throw new ExtractionError('E2003', `Processing it ended ${MAX_CRASHES} times with the loss of its process.`);
    return alone.run(ref.org, step, cancelled, begin);
  };

  async function untilEnd<T>(ref: ItemRef, cancelled: AbortSignal, work: (signal: AbortSignal) => Promise<T>) {
    const outdated = new AbortController();
    const timer = setInterval(async () => {
      if (!(await items.isCurrent(ref).catch(() => true))) outdated.abort(superseded());
    }, CHECK_MS);
    try {
      return await work(AbortSignal.any([cancelled, outdated.signal]));
    } catch (error) {
      // A run that does not get here is lost with its worker.
      const end = error instanceof ProcessLostError ? items.countCrashes([ref]) : items.endRuns([ref]);
      await end.catch(() => undefined);
      throw error;
    } finally {
      clearInterval(timer);
    }
  }
}
