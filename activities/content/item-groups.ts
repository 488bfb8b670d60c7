import { CancelledFailure, Context } from '@temporalio/activity';
import type { Logger } from 'pino';
import { itemDedupeKey } from '../../domain/content/item-delivery.js';
import type { GroupRef, GroupReport } from '../../domain/content/workflow-contract.js';
import { EmbeddingError } from '../../domain/errors.js';
import { ProcessLostError } from '../../providers/isolation/protocol.js';
import type { Databases } from '../../storage/content/databases.js';
import type { ItemGroups } from '../../storage/content/item-groups.js';
import type { ItemRecord } from '../../storage/content/items.js';
import type { Deliveries } from '../../storage/webhooks/deliveries.js';
import type { ContentStarters } from '../../temporal/content/starters.js';
import type { DeliveryStarters } from '../../temporal/webhooks/starters.js';
import { asActivityFailure, attemptNumber, type FailureRules } from '../failures.js';
import { withHeartbeat } from '../heartbeat.js';
import { type ClearItemsDependencies, clearItems } from './clear-items.js';
import { createIndexTogether, type IndexTogetherDependencies } from './index-together.js';
import { describeItemError, isSuperseded, itemFailureRules } from './item-failures.js';
import type { RunsAlone } from './item-runs.js';

export interface ItemGroupDependencies extends IndexTogetherDependencies {
  items: IndexTogetherDependencies['items'];
  itemGroups: ItemGroups;
  databases: Pick<Databases, 'isOpen'>;
  chunks: IndexTogetherDependencies['chunks'] & ClearItemsDependencies['chunks'];
  graph: IndexTogetherDependencies['graph'] & ClearItemsDependencies['graph'];
  deliveries: IndexTogetherDependencies['deliveries'] & Pick<Deliveries, 'listUnattemptedByKeys'>;
  starters: Pick<ContentStarters, 'startItem'> & Pick<DeliveryStarters, 'startDeliveries'>;
  runsAlone: RunsAlone;
  log: Pick<Logger, 'warn'>;
}

export type ItemGroupActivities = ReturnType<typeof createItemGroupActivities>;

/** Attempts after which an unavailable embedding model divides a group: one text may be the cause. */
const MAX_EMBEDDING_ATTEMPTS = 3;

/** Attempts after which a storage error divides a group: one item may be the cause. The last follows after 31 seconds. */
const MAX_STORAGE_ATTEMPTS = 6;

/** Storage errors are retried together for a while; after any other error the items continue one by one. */
const groupFailureRules: FailureRules = {
  describe(error) {
    const described = describeItemError(error);
    if (!described) return described;
    const maxAttempts = error instanceof EmbeddingError ? MAX_EMBEDDING_ATTEMPTS : MAX_STORAGE_ATTEMPTS;
    return { ...described, retryable: described.retryable && attemptNumber() < maxAttempts };
  },
  maxDefectAttempts: 1,
};

/** Index small items of one batch together. Each activity can be repeated. */
export function createItemGroupActivities(deps: ItemGroupDependencies) {
  const { itemGroups, databases, deliveries, starters, runsAlone, log } = deps;
  const index = createIndexTogether(deps);

  return {
    /** queued -> processing -> graph_creation -> completed, for all members that are in progress. */
    indexTogether: (given: GroupRef): Promise<GroupReport> =>
      forGroup(given, groupFailureRules, async (ref, signal) => {
        if (attemptNumber() > 1) await startDeliveries(ref.org, await itemGroups.listFinished(ref));
        const members = await itemGroups.listMembers(ref);
        if (members.length === 0) return { completed: 0, dropped: 0, separated: 0 };
        const open = await databases.isOpen({ _id: members[0]!.database_id, org: ref.org });
        const fresh = open ? members.filter(({ runs }) => !runs) : [];
        // A member with a run has lost it. It may be the cause, so it runs alone: here, where that costs little, or in its
        // workflow, which gives it up when the process that reads it ends again.
        const suspect = open ? members.filter(({ runs }) => runs?.begun === 1) : [];
        const ready = [...fresh, ...suspect];
        const separate = members.filter((item) => !ready.includes(item));
        const failures = await indexMembers(fresh, signal);
        for (const item of suspect) await indexAlone(item, signal, failures);
        const dropped = ready.filter(({ _id }) => isSuperseded(failures.get(_id)));
        await clearDropped(dropped);
        const failed = ready.filter((item) => failures.has(item._id) && !dropped.includes(item));
        await endRuns(failed, failures);
        await continueAlone([...separate, ...failed]);
        return {
          completed: ready.length - failures.size,
          dropped: dropped.length,
          separated: separate.length + failed.length,
        };
      }),

    /** Starts a workflow for each member that is in progress. */
    separateItems: (given: GroupRef): Promise<GroupReport> =>
      forGroup(given, itemFailureRules, async (ref) => {
        const members = await itemGroups.listMembers(ref);
        await continueAlone(members);
        return { completed: 0, dropped: 0, separated: members.length };
      }),
  };

  /** @param begun the number of their run, counted from their last run that ended by itself */
  async function indexMembers(
    items: readonly ItemRecord[],
    signal: AbortSignal,
    begun = 1,
  ): Promise<Map<string, unknown>> {
    const failures = new Map<string, unknown>();
    if (items.length === 0) return failures;
    await itemGroups.begin(items, begun);
    try {
      await index(items, signal, failures);
      return failures;
    } catch (error) {
      await endRuns(items, failures).catch(() => undefined);
      throw error;
    }
  }

  /** Counts the runs that ended with the process that read the item. The others ended by themselves. */
  async function endRuns(items: readonly ItemRecord[], failures: ReadonlyMap<string, unknown>): Promise<void> {
    const hasCrashed = ({ _id }: ItemRecord) => failures.get(_id) instanceof ProcessLostError;
    await itemGroups.countCrashes(items.filter(hasCrashed));
    await itemGroups.endRuns(items.filter((item) => !hasCrashed(item)));
  }

  /** The second run of an item whose first run was lost. */
  async function indexAlone(item: ItemRecord, signal: AbortSignal, failures: Map<string, unknown>): Promise<void> {
    await runsAlone.acquire(signal);
    try {
      for (const [key, error] of await indexMembers([item], signal, 2)) failures.set(key, error);
    } finally {
      runsAlone.release();
    }
  }

  /**
   * Data that these versions wrote after their replacement is invisible, but nothing else would delete it. A version that is
   * stored was finished by another run, and its data belongs to it.
   */
  async function clearDropped(items: readonly ItemRecord[]): Promise<void> {
    const stored = await itemGroups.getStatuses(items);
    const gone = items.filter(({ _id }) => !stored.has(_id));
    if (gone.length === 0) return;
    const versions = gone.map(({ _id, version }) => ({ item: _id, from: version, upTo: version }));
    const { database_id, org } = gone[0]!;
    await clearItems(deps, { _id: database_id, org }, versions);
  }

  /** The items belong to the group until their workflows are started, so that the reconciler finds one or the other. */
  async function continueAlone(items: readonly ItemRecord[]): Promise<void> {
    const { priority } = Context.current().info;
    const starts = await Promise.allSettled(items.map((item) => starters.startItem(item, priority?.priorityKey)));
    await itemGroups.leave(items.filter((_, n) => starts[n]!.status === 'fulfilled'));
    for (const start of starts) if (start.status === 'rejected') throw start.reason;
  }

  /** Starts the deliveries of items that an earlier attempt completed before it was lost. */
  async function startDeliveries(org: string, finished: readonly ItemRecord[]): Promise<void> {
    const keys = finished.map(({ _id, version }) => itemDedupeKey(_id, version));
    if (keys.length > 0) await starters.startDeliveries(await deliveries.listUnattemptedByKeys(org, keys));
  }

  /** Runs a step with heartbeats, shows errors that are retried, and maps errors to failures. */
  async function forGroup(
    ref: GroupRef,
    rules: FailureRules,
    step: (ref: GroupRef, signal: AbortSignal) => Promise<GroupReport>,
  ): Promise<GroupReport> {
    try {
      return await withHeartbeat((signal) => step(ref, signal));
    } catch (error) {
      log.warn({ err: error, ...ref, activity: Context.current().info.activityType }, 'group activity failed');
      const { retryable, code, message } = rules.describe(error) ?? {};
      if (retryable && !(error instanceof CancelledFailure)) {
        await itemGroups.setTransientError(ref, code!, message!).catch(() => undefined);
      }
      throw asActivityFailure(error, rules);
    }
  }
}
