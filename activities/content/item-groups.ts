import { CancelledFailure, Context } from '@temporalio/activity';
import type { Logger } from 'pino';
import { itemDedupeKey } from '../../domain/content/item-delivery.js';
import type { GroupRef, GroupReport } from '../../domain/content/workflow-contract.js';
import { EmbeddingError } from '../../domain/errors.js';
import { ProcessLostError } from '../../providers/isolation/errors.js';
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
import { describeItemError, isSuperseded } from './item-failures.js';

export interface ItemGroupDependencies extends IndexTogetherDependencies {
  itemGroups: ItemGroups;
  databases: IndexTogetherDependencies['databases'] & Pick<Databases, 'isOpen'>;
  chunks: IndexTogetherDependencies['chunks'] & ClearItemsDependencies['chunks'];
  graph: IndexTogetherDependencies['graph'] & ClearItemsDependencies['graph'];
  index: IndexTogetherDependencies['index'] & ClearItemsDependencies['index'];
  deliveries: IndexTogetherDependencies['deliveries'] & Pick<Deliveries, 'getByDedupeKey'>;
  starters: Pick<ContentStarters, 'startItem'> & Pick<DeliveryStarters, 'startDelivery' | 'startDeliveries'>;
  log: Pick<Logger, 'warn'>;
}

export type ItemGroupActivities = ReturnType<typeof createItemGroupActivities>;

/** Attempts after which an unavailable embedding model divides a group: one text may be the cause. */
const MAX_EMBEDDING_ATTEMPTS = 3;

/** Storage errors are retried together; after any other error the items continue one by one. */
const groupFailureRules: FailureRules = {
  describe(error) {
    const described = describeItemError(error);
    if (!described || !(error instanceof EmbeddingError)) return described;
    return { ...described, retryable: error.retryable && attemptNumber() < MAX_EMBEDDING_ATTEMPTS };
  },
  maxDefectAttempts: 1,
};

/** Index small items of one request together. Each activity can be repeated. */
export function createItemGroupActivities(deps: ItemGroupDependencies) {
  const { itemGroups, databases, deliveries, starters, log } = deps;
  const index = createIndexTogether(deps);

  return {
    /** queued -> processing -> graph_creation -> completed, for all members that are in progress. */
    indexTogether: (ref: GroupRef): Promise<GroupReport> =>
      forGroup(ref, async (signal) => {
        if (attemptNumber() > 1) await startDeliveries(await itemGroups.listFinished(ref));
        const members = await itemGroups.listMembers(ref);
        if (members.length === 0) return { completed: 0, dropped: 0, separated: 0 };
        const open = await databases.isOpen(members[0]!.database_id);
        // A member with a run has lost it with its process. It may be the cause, so it runs alone.
        const ready = open ? members.filter(({ runs }) => !runs) : [];
        const separate = members.filter((item) => !ready.includes(item));
        const failures = await indexMembers(ready, signal);
        const dropped = ready.filter(({ _id }) => isSuperseded(failures.get(_id)));
        await clearDropped(dropped);
        const failed = ready.filter((item) => failures.has(item._id) && !dropped.includes(item));
        await itemGroups.endRuns(failed.filter(({ _id }) => !(failures.get(_id) instanceof ProcessLostError)));
        await continueAlone([...separate, ...failed]);
        return {
          completed: ready.length - failures.size,
          dropped: dropped.length,
          separated: separate.length + failed.length,
        };
      }),

    /** Starts a workflow for each member that is in progress. */
    separateItems: (ref: GroupRef): Promise<GroupReport> =>
      forGroup(ref, async () => {
        const members = await itemGroups.listMembers(ref);
        await continueAlone(members);
        return { completed: 0, dropped: 0, separated: members.length };
      }),
  };

  async function indexMembers(items: readonly ItemRecord[], signal: AbortSignal): Promise<Map<string, unknown>> {
    if (items.length === 0) return new Map();
    await itemGroups.begin(items);
    try {
      return await index(items, signal);
    } catch (error) {
      // Only a run that never gets here is lost.
      await itemGroups.endRuns(items).catch(() => undefined);
      throw error;
    }
  }

  /** Data that these versions wrote after their replacement is invisible, but nothing else would delete it. */
  async function clearDropped(items: readonly ItemRecord[]): Promise<void> {
    if (items.length === 0) return;
    const refs = items.map(({ _id, version }) => ({ item: _id, version }));
    await clearItems(deps, items[0]!.database_id, refs);
  }

  /** The items belong to the group until their workflows are started, so that the reconciler finds one or the other. */
  async function continueAlone(items: readonly ItemRecord[]): Promise<void> {
    const { priority } = Context.current().info;
    await Promise.all(items.map((item) => starters.startItem(item, priority?.priorityKey)));
    await itemGroups.leave(items);
  }

  /** Starts the deliveries of items that an earlier attempt completed before it was lost. */
  async function startDeliveries(finished: readonly ItemRecord[]): Promise<void> {
    await Promise.all(
      finished.map(async ({ _id, version }) => {
        const delivery = await deliveries.getByDedupeKey(itemDedupeKey(_id, version));
        if (delivery) await starters.startDelivery(delivery);
      }),
    );
  }

  /** Runs a step with heartbeats, shows errors that are retried, and maps errors to failures. */
  async function forGroup<T>(ref: GroupRef, step: (signal: AbortSignal) => Promise<T>): Promise<T> {
    try {
      return await withHeartbeat(step);
    } catch (error) {
      log.warn({ err: error, ...ref, activity: Context.current().info.activityType }, 'group activity failed');
      const { retryable, code, message } = groupFailureRules.describe(error) ?? {};
      if (retryable && !(error instanceof CancelledFailure)) {
        await itemGroups.setTransientError(ref, code!, message!).catch(() => undefined);
      }
      throw asActivityFailure(error, groupFailureRules);
    }
  }
}
