import { isCancellation, log, proxyActivities, proxyLocalActivities } from '@temporalio/workflow';
import type { IndexItemsActivities } from '../../activities/content/index-items.js';
import {
  addOutcome,
  FILE_QUEUE,
  GROUP_QUEUE,
  type ItemRef,
  type ItemsAttempt,
  type ItemsRef,
  type ItemsReport,
} from '../../domain/content/workflow-contract.js';
import { showOutcome } from '../failures.js';

const limits = { startToCloseTimeout: '10 minutes', heartbeatTimeout: '10 seconds' } as const;
const retry = { initialInterval: '1 second', backoffCoefficient: 2, maximumInterval: '1 minute' } as const;

// Storage errors are retried together for half a minute. Then the items continue one by one: one may be the cause.
const together = { ...limits, retry: { ...retry, maximumAttempts: 6 }, summary: 'Index the items together' } as const;

/** A lone text is indexed inside the workflow's first task, which costs the server half the events of an activity. */
function attemptAt({ files, items }: ItemsRef) {
  if (files) return proxyActivities<IndexItemsActivities>({ ...together, taskQueue: FILE_QUEUE });
  if (items.length > 1) return proxyActivities<IndexItemsActivities>({ ...together, taskQueue: GROUP_QUEUE });
  return proxyLocalActivities<IndexItemsActivities>({
    startToCloseTimeout: '30 seconds',
    retry: { maximumAttempts: 1 },
    summary: 'Index the item',
  });
}

/** A short text has the slots of the workflow's queue, a file those of files. Attempts are unlimited, as for large items. */
function indexAlone({ files }: ItemsRef, item: ItemRef) {
  const queue = files ? { taskQueue: FILE_QUEUE } : {};
  return proxyActivities<IndexItemsActivities>({ ...limits, ...queue, retry, summary: 'Index one item' }).indexAlone(
    item,
  );
}

/**
 * Small items of one collection, one or many: queued -> processing -> graph_creation -> completed | errored, first together.
 * Those that are left continue one by one. Deliveries, which are workflows of their own, notify the client of the outcomes.
 */
export async function indexItems(work: ItemsRef): Promise<ItemsReport> {
  const { left, ...report } = await indexTogether(work);
  const { org, database_id } = work;
  await Promise.all(
    left.map(async (version) => {
      addOutcome(report, version, await indexAlone(work, { ...version, org, database_id }));
    }),
  );
  if (report.errored.length > 0) showOutcome('errored');
  return report;
}

async function indexTogether(work: ItemsRef): Promise<ItemsAttempt> {
  try {
    return await attemptAt(work).indexTogether(work);
  } catch (error) {
    if (isCancellation(error)) throw error;
    log.info('The items continue one by one');
    return { completed: 0, dropped: 0, errored: [], left: work.items };
  }
}
