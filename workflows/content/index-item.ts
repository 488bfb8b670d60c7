import { log, proxyActivities } from '@temporalio/workflow';
import type { ItemActivities } from '../../activities/content/index-item.js';
import { FILE_QUEUE, type ItemOutcome, type ItemRef, SUPERSEDED } from '../../domain/content/workflow-contract.js';
import { INTERNAL_ERROR } from '../../domain/workflow-contract.js';
import { clientFailureOf, hasFailureType, showOutcome } from '../failures.js';

// Attempts are unlimited: storage errors (E6001) are transient, and activities mark lasting errors as not retryable.
const retry = { initialInterval: '1 second', backoffCoefficient: 2, maximumInterval: '1 minute' } as const;

const long = { startToCloseTimeout: '1 hour', heartbeatTimeout: '10 seconds', retry } as const;
const short = { startToCloseTimeout: '10 minutes', heartbeatTimeout: '10 seconds', retry } as const;

const { finishItem } = proxyActivities<ItemActivities>({ ...short, summary: 'Store the outcome and the delivery' });

/** A short text has the slots of the workflow's queue, a file those of files. */
function smallItemActivities({ file }: ItemRef) {
  const queue = file ? { taskQueue: FILE_QUEUE } : {};
  return proxyActivities<ItemActivities>({
    ...short,
    ...queue,
    summary: file ? 'Index the file' : 'Index the short text',
  });
}

// Larger files and texts have a queue of their own, so that they never hold all the slots that notes need.
const onFileQueue = { taskQueue: FILE_QUEUE };
const { extractItem } = proxyActivities<ItemActivities>({
  ...long,
  ...onFileQueue,
  summary: 'Extract the text and split it',
});
const { embedAndIndexItem } = proxyActivities<ItemActivities>({
  ...long,
  ...onFileQueue,
  summary: 'Embed and index the chunks',
});
const { linkItemGraph } = proxyActivities<ItemActivities>({ ...short, ...onFileQueue, summary: 'Add it to the graph' });

/**
 * One version of one item: queued -> processing -> graph_creation -> completed | errored. A small item takes one activity.
 * A delivery, which is a workflow of its own, notifies the client of the outcome.
 */
export async function indexItem(item: ItemRef): Promise<ItemOutcome | typeof SUPERSEDED> {
  try {
    const outcome = await index(item);
    // A small item that completed has stored its outcome.
    const stored = item.small && outcome.status === 'completed' ? outcome : await finishItem(item, outcome);
    if (outcome.status === 'errored') showOutcome(outcome.status);
    return stored;
  } catch (error) {
    if (!hasFailureType(error, SUPERSEDED)) throw error;
    log.info('This version of the item was replaced or deleted');
    return SUPERSEDED;
  }
}

async function index(item: ItemRef): Promise<ItemOutcome> {
  try {
    if (item.small) return await smallItemActivities(item).indexSmallItem(item); // processing, graph_creation, completed
    await extractItem(item); // processing
    await embedAndIndexItem(item);
    await linkItemGraph(item); // graph_creation
    return { status: 'completed' };
  } catch (error) {
    if (hasFailureType(error, INTERNAL_ERROR)) {
      const error_message = 'The item could not be indexed because of an internal error.';
      return { status: 'errored', error_code: INTERNAL_ERROR, error_message };
    }
    const failure = clientFailureOf(error);
    if (!failure) throw error;
    return { status: 'errored', error_code: failure.code, error_message: failure.message };
  }
}
