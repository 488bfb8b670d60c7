import { log, proxyActivities } from '@temporalio/workflow';
import type { LargeItemActivities } from '../../activities/content/index-large-item.js';
import {
  FILE_QUEUE,
  ITEM_INTERNAL_ERROR,
  type ItemOutcome,
  type ItemRef,
  SUPERSEDED,
} from '../../domain/content/workflow-contract.js';
import { INTERNAL_ERROR } from '../../domain/workflow-contract.js';
import { clientFailureOf, hasFailureType, showOutcome } from '../failures.js';

// Attempts are unlimited: storage errors (E6001) are transient, and activities mark lasting errors as not retryable.
const retry = { initialInterval: '1 second', backoffCoefficient: 2, maximumInterval: '1 minute' } as const;
const heartbeatTimeout = '10 seconds';

// On a queue of their own, so that files never hold all the slots that notes need.
const steps = (summary: string, startToCloseTimeout: '1 hour' | '10 minutes') =>
  proxyActivities<LargeItemActivities>({
    startToCloseTimeout,
    heartbeatTimeout,
    retry,
    taskQueue: FILE_QUEUE,
    summary,
  });
const { extractItem } = steps('Extract the text and split it', '1 hour');
const { embedAndIndexItem } = steps('Embed and index the chunks', '1 hour');
const { linkItemGraph } = steps('Add it to the graph', '10 minutes');

const { finishItem } = proxyActivities<LargeItemActivities>({
  startToCloseTimeout: '10 minutes',
  heartbeatTimeout,
  retry,
  summary: 'Store the outcome and the delivery',
});

/**
 * One version of a large item: queued -> processing -> graph_creation -> completed | errored.
 * A delivery, which is a workflow of its own, notifies the client of the outcome.
 */
export async function indexLargeItem(item: ItemRef): Promise<ItemOutcome | typeof SUPERSEDED> {
  try {
    const outcome = await finishItem(item, await index(item));
    if (outcome.status === 'errored') showOutcome(outcome.status);
    return outcome;
  } catch (error) {
    if (!hasFailureType(error, SUPERSEDED)) throw error;
    log.info('This version of the item was replaced or deleted');
    return SUPERSEDED;
  }
}

async function index(item: ItemRef): Promise<ItemOutcome> {
  try {
    await extractItem(item); // processing
    await embedAndIndexItem(item);
    await linkItemGraph(item); // graph_creation
    return { status: 'completed' };
  } catch (error) {
    if (hasFailureType(error, INTERNAL_ERROR)) {
      return { status: 'errored', error_code: INTERNAL_ERROR, error_message: ITEM_INTERNAL_ERROR };
    }
    const failure = clientFailureOf(error);
    if (!failure) throw error;
    return { status: 'errored', error_code: failure.code, error_message: failure.message };
  }
}
