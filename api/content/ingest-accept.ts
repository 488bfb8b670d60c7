import { setTimeout as wait } from 'node:timers/promises';
import type { ClientSession } from 'mongodb';
import type { Logger } from 'pino';
import { isSmall } from '../../domain/content/small-items.js';
import { ServiceError } from '../../domain/errors.js';
import { newBatchId } from '../../domain/ids.js';
import { createItemNotifier, itemDedupeKey } from '../../storage/content/item-delivery.js';
import type { ItemRecord } from '../../storage/content/items.js';
import { inTransaction } from '../../storage/transactions.js';
import type { DeliveryRecord } from '../../storage/webhooks/deliveries.js';
import type { ContentStarters } from '../../temporal/content/starters.js';
import { startOrDefer } from '../../temporal/workflow-starter.js';
import type { Dependencies } from '../dependencies.js';
import { type BatchedRequest, createRequestBatcher, type RequestBatcher } from '../request-batcher.js';
import type { Draft } from './ingest-drafts.js';
import { type IngestPlan, type IngestTarget, planIngest } from './ingest-plan.js';

/** A plan that was committed. */
export interface AcceptedIngest extends IngestPlan {
  /** True when the only item is in a group of several requests, which starts its workflow. */
  grouped: boolean;
}

/** How long an item waits for others. A workflow with its activity costs as much as 20 notes. */
const GROUP_WAIT_MS = 500;

/** @returns a batcher of the items that are alone in their requests */
export function createIngestBatcher(
  starters: Pick<ContentStarters, 'startIngest'>,
  log: Pick<Logger, 'warn'>,
): RequestBatcher<ItemRecord> {
  return createRequestBatcher({
    newId: newBatchId,
    waitMs: GROUP_WAIT_MS,
    start(batch, items: ItemRecord[]) {
      const { org, database } = items[0]!;
      return startOrDefer(log, 'ingest', { batch }, () => starters.startIngest({ org, batch }, items, database));
    },
  });
}

/** Runs the writes of an ingest with the response that reports the plan; see `respondWith`. */
export type CommitIngest = (plan: IngestPlan, write: (tx?: ClientSession) => Promise<void>) => Promise<void>;

/** How often the plan of a request is repeated when concurrent requests change the same items. */
const MAX_ATTEMPTS = 20;
/** Wait before the first retry; later retries wait longer. */
const PAUSE_MS = 20;

/**
 * Queues new items and the deliveries of unchanged completed items, in one transaction.
 * @returns the plan that was committed
 * @throws ServiceError SOURCE_ALREADY_EXISTS, FORBIDDEN
 */
export async function acceptIngest(
  deps: Dependencies,
  drafts: readonly Draft[],
  target: IngestTarget,
  commit: CommitIngest,
): Promise<AcceptedIngest> {
  for (let attempt = 1; ; attempt += 1) {
    const plan = await planIngest(deps.itemQueue, drafts, target, deps.now());
    const batched = addToBatch(deps, plan);
    let deliveries: DeliveryRecord[] = [];
    let records: ItemRecord[] = [];
    try {
      const write = async (tx: ClientSession) => {
        records = await deps.itemQueue.add(plan.records, tx);
        await deps.itemQueue.confirmUnchanged(plan.unchanged, deps.now(), tx);
        deliveries = await notifyUnchanged(deps, plan, target, tx);
      };
      const store = async (tx?: ClientSession) => {
        const item = tx ? null : smallNewItem(plan);
        if (item) records = [await deps.itemCommits.add(item)];
        else await inTransaction(deps.mongoClient, write, tx);
      };
      await commit(plan, (outer) => deps.quotas.admit(target.database.org, plan.added, store, outer));
    } catch (error) {
      batched?.settle(null);
      const conflict = error instanceof ServiceError && error.code === 'SOURCE_ALREADY_EXISTS';
      if (!conflict || attempt === MAX_ATTEMPTS) throw error;
      // Another request has changed one of these items since: repeat the plan with its changes.
      await wait(Math.random() * attempt * PAUSE_MS);
      continue;
    }
    batched?.settle(records[0]!);
    // Not awaited, so that the response does not wait for thousands of starts.
    void startOrDefer(deps.log, 'deliveries', { batch: target.batch }, () => deps.starters.startDeliveries(deliveries));
    return { ...plan, records, grouped: Boolean(batched?.group) };
  }
}

/** @returns the item of a plan that does nothing but add a small item; null for any other plan */
function smallNewItem({ records, unchanged }: IngestPlan): ItemRecord | null {
  const [item] = records;
  return item && records.length === 1 && unchanged.length === 0 && item.version === 1 && isSmall(item) ? item : null;
}

/** Puts the only item of a request into a group of several requests, when many such requests arrive. */
function addToBatch({ ingestBatcher }: Dependencies, { records }: IngestPlan): BatchedRequest<ItemRecord> | null {
  const [item] = records;
  if (!item || records.length > 1) return null;
  const small = item.source.kind === 'text' && isSmall(item);
  // A group belongs to one collection. Versions of an item are told apart by their batch, and a group has one of each item.
  const batched = ingestBatcher.add(`${item.database_id}/${item.collection}`, small ? item : null);
  if (batched.group !== null) Object.assign(item, { batch: batched.group, group: 0 });
  return batched;
}

/** An unchanged completed item will not complete again, but each request is notified of its items. */
function notifyUnchanged(deps: Dependencies, plan: IngestPlan, target: IngestTarget, tx: ClientSession) {
  const { database, collection, batch } = target;
  const owner = { database: database.name, database_id: database._id, collection };
  const items = plan.unchanged.flatMap((item) => (item.indexing_status === 'completed' ? [{ ...item, ...owner }] : []));
  const keyOf: typeof itemDedupeKey = (item) => `${itemDedupeKey(item)}/${batch}`;
  return createItemNotifier(deps)(items, { status: 'completed' }, deps.now(), tx, keyOf);
}
