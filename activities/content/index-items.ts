import { hasEnded } from '../../domain/content/states.js';
import {
  addOutcome,
  type ItemOutcome,
  type ItemRef,
  type ItemsAttempt,
  type ItemsRef,
  type ItemVersion,
  refOf,
  SUPERSEDED,
} from '../../domain/content/workflow-contract.js';
import { ProcessLostError } from '../../providers/isolation/protocol.js';
import type { Databases } from '../../storage/content/databases.js';
import type { ItemRecord, Items } from '../../storage/content/items.js';
import { type ClearItemsDependencies, clearVersion } from './clear-items.js';
import { databaseOf, type InterruptDependencies, interruptItems } from './databases.js';
import { createEndItems, storedOutcome } from './end-items.js';
import { createIndexTogether, type IndexTogetherDependencies } from './index-together.js';
import { finalOutcome, isSuperseded, itemStep, showTransientError, superseded } from './item-failures.js';
import { createItemRuns, type RunsAlone } from './item-runs.js';

export type IndexItemsDependencies = IndexTogetherDependencies &
  ClearItemsDependencies &
  InterruptDependencies & {
    items: Pick<Items, 'beginRuns' | 'countCrashes' | 'endRuns' | 'isCurrent' | 'listVersions' | 'setTransientError'>;
    databases: Pick<Databases, 'isOpen'>;
    runsAlone: RunsAlone;
  };

const NOTHING: ItemsAttempt = { completed: 0, dropped: 0, errored: [], left: [] };

export type IndexItemsActivities = ReturnType<typeof createIndexItemsActivities>;

/** Index small items: queued -> processing -> graph_creation -> completed | errored. Each activity can be repeated. */
export function createIndexItemsActivities(deps: IndexItemsDependencies) {
  const { items, databases } = deps;
  const index = createIndexTogether(deps);
  const end = createEndItems(deps);
  const run = createItemRuns(items, deps.runsAlone);

  return {
    /**
     * Indexes the items together that are in progress. An item that fails for another reason than itself is left, and so is an
     * item whose last run was lost: it may be the cause.
     */
    indexTogether: (given: ItemsRef): Promise<ItemsAttempt> =>
      itemStep(items, versionsOf(given), async (signal) => {
        const versions = versionsOf(given);
        const found = await items.listVersions(versions);
        // Those that an attempt has ended before it was lost are left out.
        const open = found.filter((item) => !hasEnded(item));
        // What a lost attempt wrote after their deletion or replacement is invisible, but nothing else would delete it.
        const kept = new Set(found.map((item) => item._id));
        for (const gone of versions.filter(({ item }) => !kept.has(item))) await clearVersion(deps, gone);
        if (!(await isDatabaseOpen(open))) return { ...NOTHING, dropped: open.length };
        const [fresh, lost] = [open.filter(({ runs }) => !runs), open.filter(({ runs }) => runs)];
        const failures = await indexFresh(fresh, signal);
        const attempt: ItemsAttempt = { ...NOTHING, errored: [], left: lost.map(nameOf) };
        for (const item of fresh) await settle(item, failures.get(item._id), attempt);
        return attempt;
      }),

    /** Indexes an item that was left. Temporal repeats it after each error that may pass. */
    indexAlone: (given: ItemRef): Promise<ItemOutcome | typeof SUPERSEDED> =>
      itemStep(items, [given], async (signal) => {
        try {
          await run(given, { step: 'index', indexing_status: 'processing' }, signal, async (item, runSignal) => {
            if (!(await isDatabaseOpen([item]))) throw superseded();
            const failures = new Map<string, unknown>();
            await index([item], runSignal, failures);
            if (failures.size > 0) throw failures.get(item._id);
          });
          return { status: 'completed' };
        } catch (error) {
          return await endAfter(given, error);
        }
      }),
  };

  /** @returns false after it has ended the items because their database is being deleted */
  async function isDatabaseOpen(records: readonly ItemRecord[]): Promise<boolean> {
    if (records.length === 0) return true;
    const database = databaseOf(records[0]!);
    if (await databases.isOpen(database)) return true;
    const keys = records.map((item) => item._id);
    await interruptItems(deps, database, keys);
    return false;
  }

  /** @returns the errors of those that did not complete, by key */
  async function indexFresh(records: readonly ItemRecord[], signal: AbortSignal): Promise<Map<string, unknown>> {
    const failures = new Map<string, unknown>();
    if (records.length === 0) return failures;
    await items.beginRuns(records.map(refOf), { step: 'index', status: 'processing' });
    try {
      await index(records, signal, failures);
      await endRuns(
        records.filter(({ _id }) => failures.has(_id)),
        failures,
      );
      return failures;
    } catch (error) {
      await endRuns(records, failures).catch(() => undefined);
      throw error;
    }
  }

  /** Counts the runs that ended with the process that read the item. The others ended by themselves. */
  async function endRuns(records: readonly ItemRecord[], failures: ReadonlyMap<string, unknown>): Promise<void> {
    const hasCrashed = ({ _id }: ItemRecord) => failures.get(_id) instanceof ProcessLostError;
    await items.countCrashes(records.filter(hasCrashed).map(refOf));
    await items.endRuns(records.filter((item) => !hasCrashed(item)).map(refOf));
  }

  /** Adds what became of an item to the report of its attempt. */
  async function settle(item: ItemRecord, error: unknown, attempt: ItemsAttempt): Promise<void> {
    const outcome: ItemOutcome | typeof SUPERSEDED | null =
      error === undefined ? { status: 'completed' } : await endAfter(refOf(item), error).catch(() => null);
    if (outcome === null) attempt.left.push(nameOf(item));
    else addOutcome(attempt, nameOf(item), outcome);
  }

  /** Ends an item that cannot be indexed. @throws the error when it may pass */
  async function endAfter(ref: ItemRef, error: unknown): Promise<ItemOutcome | typeof SUPERSEDED> {
    if (isSuperseded(error)) return outcomeOfAnother(ref);
    const outcome = finalOutcome(error);
    if (!outcome) {
      await showTransientError(items, [ref], error);
      throw error;
    }
    // Parts of an item that failed must not be found.
    await clearVersion(deps, ref);
    return (await end([ref], outcome)).has(ref.item) ? outcome : outcomeOfAnother(ref);
  }

  /** The outcome that another run has stored. */
  async function outcomeOfAnother(ref: ItemRef): Promise<ItemOutcome | typeof SUPERSEDED> {
    const [item] = await items.listVersions([ref]);
    if (item && hasEnded(item)) return storedOutcome(item);
    // What it wrote after its deletion or replacement is invisible, but nothing else would delete it.
    if (!item) await clearVersion(deps, ref);
    return SUPERSEDED;
  }
}

function versionsOf({ org, database_id, items }: ItemsRef): ItemRef[] {
  return items.map((version) => ({ ...version, org, database_id }));
}

function nameOf({ _id, version }: ItemRecord): ItemVersion {
  return { item: _id, version };
}
