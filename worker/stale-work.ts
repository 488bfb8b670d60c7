import { type StaleWork, staleWork } from '../activities/reconcile.js';
import { workflowUnits } from '../domain/content/small-items.js';
import { groupByWorkflow } from '../domain/group-limits.js';
import type { StaleKind } from '../domain/workflow-contract.js';
import type { SharedDependencies } from '../runtime/dependencies.js';
import type { AiJobRecord } from '../storage/ai-jobs/job-record.js';
import type { ItemRecord } from '../storage/content/items.js';
import type { StaleRecords } from '../storage/queries.js';
import { applyConnector } from '../temporal/connectors/apply-connector.js';
import type { Starters } from '../temporal/starters.js';

/** Items of one removal (`RemovedItems.remove`). */
const MAX_REMOVED = 1_000;

const idOf = ({ _id }: { _id: string }): string => _id;

/**
 * Records of one group are one entry, because they have one workflow. The entry has all members that are in progress: a page
 * may end within the group, the workflow carries their ids, and a second start of a running workflow does nothing.
 * @param split divides a page into groups and single records
 * @param membersOf the members in progress of a record's group; undefined when the workflow needs only the record
 */
function byWorkflow<Entry extends { _id: string }>(
  stale: StaleRecords<Entry>,
  split: (page: readonly Entry[]) => Entry[][],
  membersOf: (entry: Entry) => Promise<Entry[]> | undefined = () => undefined,
): StaleRecords<Entry[]> {
  const whole = async (unit: Entry[]): Promise<Entry[]> => {
    const members = (await membersOf(unit[0]!)) ?? [];
    return members.length > unit.length ? members : unit;
  };
  return {
    list: async (before, limit) => Promise.all(split(await stale.list(before, limit)).map(whole)),
    markStarted: (units, before, next) => stale.markStarted(units.flat(), before, next),
    markFailed: (units, before, now) => stale.markFailed(units.flat(), before, now),
  };
}

const itemsByWorkflow = ({ stale, listGroup }: SharedDependencies['items']): StaleRecords<ItemRecord[]> =>
  byWorkflow(stale, workflowUnits, ({ org, batch, group }) =>
    group === undefined ? undefined : listGroup(org, batch, group),
  );

const jobsByWorkflow = ({ stale, listGroup }: SharedDependencies['aiJobs']): StaleRecords<AiJobRecord[]> =>
  byWorkflow(
    stale,
    (page) => groupByWorkflow(page, ({ group }) => group),
    ({ org, group }) => (group === undefined ? undefined : listGroup(org, group)),
  );

/** How the reconciler finds the stale records of each kind, and how it starts their workflow. */
export function listStaleWork(stores: SharedDependencies, starters: Starters): Record<StaleKind, StaleWork> {
  return {
    items: staleWork({
      records: itemsByWorkflow(stores.items),
      idOf: ([item]) => idOf(item!),
      start: starters.startItems,
    }),
    jobs: staleWork({
      records: jobsByWorkflow(stores.aiJobs),
      idOf: ([job]) => idOf(job!),
      async start(jobs) {
        await starters.startJobs(jobs);
        // The request to cancel them may not have reached Temporal.
        for (const job of jobs) if (job.cancel_requested) await starters.cancelJob(job);
      },
    }),
    crews: staleWork({
      records: stores.crewExecutions.stale,
      idOf,
      start: (execution) =>
        execution.cancel_requested ? starters.cancelCrew(execution) : starters.startCrew(execution),
    }),
    deliveries: staleWork({
      records: stores.deliveries.stale,
      idOf,
      // The workflow of a delivery that has ended may still wait for an attempt: the signal makes it look.
      start: (delivery) =>
        delivery.next_attempt_at === null ? starters.retryDelivery(delivery) : starters.startDelivery(delivery),
    }),
    databases: staleWork({
      records: stores.databases.stale,
      idOf,
      start: ({ _id: database_id, org, name, status }) =>
        status === 'deleting'
          ? starters.startDatabaseDeletion({ org, database_id }, name)
          : starters.startProvisioning({ org, database_id }, name),
    }),
    removals: staleWork({
      records: byWorkflow(
        stores.removedItems.stale,
        (page) => groupByWorkflow(page, ({ removal }) => removal ?? undefined),
        ({ org, removal }) => stores.removedItems.listPending({ org, removal: removal! }, MAX_REMOVED),
      ),
      idOf: ([removed]) => removed!.removal!,
      start: ([removed]) => starters.startRemoval({ org: removed!.org, removal: removed!.removal! }),
    }),
    connectors: staleWork({
      records: stores.connectors.stale,
      idOf,
      start: (connector) => applyConnector({ connectors: stores.connectors, starters }, connector),
    }),
    authentications: staleWork({ records: stores.authentications.stale, idOf, start: starters.startExpiry }),
    replays: staleWork({ records: stores.replays.stale, idOf, start: starters.startReplay }),
    index_rebuilds: staleWork({
      records: stores.indexRebuilds.stale,
      idOf,
      start: ({ _id }) => starters.startRebuild(_id),
    }),
    index_rows: staleWork({ records: stores.itemCatalogue.rowsDue, idOf, start: starters.startIndexRows }),
  };
}
