import { setTimeout as wait } from 'node:timers/promises';
import { type Client, WorkflowNotFoundError } from '@temporalio/client';
import { createCompletion } from '../../activities/webhooks/completion.js';
import { newDeliveryId } from '../../domain/ids.js';
import type { NewDelivery } from '../../domain/webhooks/deliveries.js';
import { createLaneSwitch, laneOf } from '../../domain/webhooks/lanes.js';
import { inTransaction } from '../../storage/transactions.js';
import { createDeliveries } from '../../storage/webhooks/deliveries.js';
import { createLaneQueue } from '../../storage/webhooks/lane-queue.js';
import { createLanes } from '../../storage/webhooks/lanes.js';
import { createStarters } from '../../temporal/starters.js';
import { workflowIds } from '../../temporal/workflow-ids.js';
import type { BenchInstance } from './instance.js';
import { runConcurrently } from './measure.js';
import { benchDelivery } from './records.js';

/** Lanes of the embedded stack. */
const LANES = 4;
const CONCURRENCY = 20;
const INSERT_BATCH = 10_000;
/** How often it is checked whether the lane has ended. */
const LOOK_MS = 200;

export type Completions = ReturnType<typeof createCompletions>;

/** Stores and starts deliveries of an organisation as the end of work does. */
export function createCompletions({ collections }: BenchInstance, temporal: Client, org = 'bench') {
  const flags = createLanes(collections, createLaneQueue(collections)).flags;
  const starters = createStarters(temporal, undefined, flags);
  const stores = {
    own: createDeliveries(collections),
    lanes: createDeliveries(collections, undefined, createLaneSwitch({ lanes: LANES })),
  };
  const complete = createCompletion({ mongoClient: collections.mongoClient, deliveries: stores.lanes, starters });
  const lane = laneOf(org, LANES);
  let next = 0;

  function newDelivery(): NewDelivery {
    const _id = newDeliveryId();
    const { payload, indexing_status } = benchDelivery(_id, next++);
    return {
      _id,
      org,
      dedupe_key: `item/${_id}/1`,
      event_type: 'indexing.status_changed',
      doc_id: `doc-${next}`,
      indexing_status: indexing_status!,
      payload: payload!,
      now: new Date(),
    };
  }

  async function one(store: keyof typeof stores, group: number): Promise<string[]> {
    const added = Array.from({ length: group }, newDelivery);
    const records = await inTransaction(collections.mongoClient, (tx) => stores[store].addAll(added, tx));
    await starters.startDeliveries(records);
    return records.map(({ _id }) => _id);
  }

  /** A lane that still runs would send what is stored before the measurement begins. */
  async function isRunning(): Promise<boolean> {
    try {
      const { status } = await temporal.workflow.getHandle(workflowIds.lane(lane)).describe();
      return status.name === 'RUNNING';
    } catch (error) {
      if (error instanceof WorkflowNotFoundError) return false;
      throw error;
    }
  }

  return {
    /** Stores so many deliveries in one transaction, and starts them. @returns their ids */
    one,
    /** Stores deliveries in transactions of so many, side by side, and starts them. */
    many: (store: keyof typeof stores, count: number, group: number) =>
      runConcurrently(count / group, CONCURRENCY, () => one(store, group)),
    /** Stores deliveries that wait in their lane, once it has ended. `startLane` starts it again. */
    async backlog(count: number): Promise<void> {
      while (await isRunning()) await wait(LOOK_MS);
      for (let stored = 0; stored < count; stored += INSERT_BATCH) {
        const size = Math.min(INSERT_BATCH, count - stored);
        const records = Array.from({ length: size }, () => benchDelivery(newDeliveryId(), next++, lane, org));
        await collections.deliveries.insertMany(records, { ordered: false });
      }
    },
    /** Completes so many pieces of work side by side, each as if it were alone, as the activities that end work do. */
    each: (count: number) =>
      runConcurrently(count, CONCURRENCY, () => {
        const delivery = newDelivery();
        return complete(delivery.org, delivery.dedupe_key, async () => delivery);
      }),
    startLane: () => starters.startLane(lane),
  };
}
