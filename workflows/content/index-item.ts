import { log, proxyActivities } from '@temporalio/workflow';
import type { ContentActivities } from '../../activities/content/index-item.js';
import { type ItemOutcome, type ItemRef, SUPERSEDED } from '../../domain/content/workflow-contract.js';
import { INTERNAL_ERROR } from '../../domain/workflow-contract.js';
import { clientFailureOf, hasFailureType } from '../failures.js';
import { showOutcome } from '../outcome.js';

// No limit on attempts: storage errors (E6001) clear by themselves, and what cannot clear is not retryable.
const retry = { initialInterval: '1 second', backoffCoefficient: 2, maximumInterval: '1 minute' } as const;

const long = { startToCloseTimeout: '1 hour', heartbeatTimeout: '20 seconds', retry } as const;
const short = { startToCloseTimeout: '10 minutes', heartbeatTimeout: '20 seconds', retry } as const;

const { extractItem } = proxyActivities<ContentActivities>({ ...long, summary: 'Read its text, cut it into chunks' });
const { embedAndIndexItem } = proxyActivities<ContentActivities>({ ...long, summary: 'Embed and index its chunks' });
const { linkItemGraph } = proxyActivities<ContentActivities>({ ...short, summary: 'Link it into the graph' });
const { finishItem } = proxyActivities<ContentActivities>({ ...short, summary: 'Write its end and the delivery' });

/**
 * One version of one item: queued -> processing -> graph_creation -> completed | errored.
 * The end is announced by a delivery, whose workflow lives on its own.
 */
export async function indexItem(item: ItemRef): Promise<ItemOutcome | typeof SUPERSEDED> {
  try {
    const outcome = await index(item);
    const written = await finishItem(item, outcome);
    if (outcome.status === 'errored') showOutcome(outcome.status);
    return written;
  } catch (error) {
    if (!hasFailureType(error, SUPERSEDED)) throw error;
    log.info('This version of the item has been replaced or deleted');
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
      const error_message = 'The item could not be indexed, for an internal reason.';
      return { status: 'errored', error_code: INTERNAL_ERROR, error_message };
    }
    const failure = clientFailureOf(error);
    if (!failure) throw error;
    return { status: 'errored', error_code: failure.code, error_message: failure.message };
  }
}
