import type { Db, Document } from 'mongodb';
import type { DeliveryState } from '../../domain/states.js';
import { CALLBACK_EVENTS } from '../../domain/webhooks/events.js';
import { laneOf } from '../../domain/webhooks/lanes.js';
import { NOT_CHECKED } from '../webhooks/deliveries.js';

/*
 * Work that waits is carried over as records: deliveries for their next attempt, crews for a person, authentications for
 * their end. Before they are copied they are paused, so that neither cell starts them. What a pause replaces is kept in
 * `paused`, so the record says itself how it continues.
 */

/** An attempt whose claim ended so long ago was lost with its process. */
const LOST_MS = 5_000;

/** The unfinished deliveries of an organisation, by the index of its lists. */
const deliveriesIn = (org: string, states: readonly DeliveryState[]) => ({
  org,
  event_type: { $in: [...CALLBACK_EVENTS] },
  status: { $in: [...states] },
});

const UNPAUSED = { paused: { $exists: false } };
/** Records that the reconciler starts, and no client changes while the organisation is closed. */
const TIMED: readonly { collection: string; waiting: Document }[] = [
  { collection: 'crew_executions', waiting: { status: 'pending_human_input' } },
  { collection: 'authentications', waiting: { status: { $in: ['started', 'eligibility_checked'] } } },
];

/**
 * Pauses the waiting work of an organisation. An attempt in progress is not paused: it ends first.
 * @returns how many deliveries are not paused
 */
export async function pauseWork(db: Db, org: string): Promise<{ unpaused: number }> {
  const deliveries = db.collection('deliveries');
  const attempted = deliveriesIn(org, ['sweeping']);
  const lost = { claimed_until: { $lt: new Date(Date.now() - LOST_MS) } };
  await deliveries.updateMany({ ...attempted, ...lost, ...UNPAUSED }, [
    {
      $set: {
        status: { $cond: [{ $eq: ['$failures', 0] }, 'pending', 'failed'] },
        next_attempt_at: '$$NOW',
        claimed_until: null,
        queue: { $cond: [{ $gt: ['$queue', null] }, { receiver: '$queue.receiver', due: '$$NOW' }, '$$REMOVE'] },
      },
    },
  ]);
  // A claim needs a time and a place in a lane. Both updates are atomic, so a delivery is either claimed or paused.
  await deliveries.updateMany({ ...deliveriesIn(org, ['pending', 'failed']), ...UNPAUSED }, [
    {
      $set: {
        paused: { next_attempt_at: '$next_attempt_at', receiver: { $ifNull: ['$queue.receiver', null] } },
        next_attempt_at: null,
        check_at: NOT_CHECKED,
        lane: null,
        queue: '$$REMOVE',
      },
    },
  ]);
  for (const { collection, waiting } of TIMED) {
    await db
      .collection(collection)
      .updateMany({ org, ...waiting, ...UNPAUSED }, [
        { $set: { paused: { check_at: '$check_at' }, check_at: NOT_CHECKED } },
      ]);
  }
  // Their schedules are removed; `pending` makes the reconciler create them.
  await db.collection('connectors').updateMany({ org }, { $set: { pending: false } });
  // An attempt that ended since the update has left its delivery unpaused too, and in another state.
  const unfinished = deliveriesIn(org, ['pending', 'failed', 'sweeping']);
  return { unpaused: await deliveries.countDocuments({ ...unfinished, ...UNPAUSED }) };
}

/**
 * Continues the paused work, in the cell that serves the organisation: the reconciler finds its records due.
 * @param lanes of deliveries in this cell
 */
export async function continueWork(db: Db, org: string, lanes: number): Promise<void> {
  const deliveries = db.collection('deliveries');
  const waiting = deliveriesIn(org, ['pending', 'failed']);
  const queued = { ...waiting, 'paused.receiver': { $gt: '' } };
  for (const receiver of (await deliveries.distinct('paused.receiver', queued)) as string[]) {
    if (lanes === 0) continue;
    await deliveries.updateMany({ ...waiting, 'paused.receiver': receiver }, [
      {
        $set: {
          lane: laneOf(receiver, lanes),
          queue: { receiver, due: '$paused.next_attempt_at' },
          next_attempt_at: '$paused.next_attempt_at',
          paused: '$$REMOVE',
        },
      },
    ]);
  }
  await deliveries.updateMany({ ...waiting, paused: { $exists: true } }, [
    {
      $set: {
        next_attempt_at: '$paused.next_attempt_at',
        check_at: { $ifNull: ['$paused.next_attempt_at', '$$NOW'] },
        paused: '$$REMOVE',
      },
    },
  ]);
  for (const { collection } of TIMED) {
    await db
      .collection(collection)
      .updateMany({ org, paused: { $exists: true } }, [{ $set: { check_at: '$$NOW', paused: '$$REMOVE' } }]);
  }
  await db.collection('connectors').updateMany({ org }, { $set: { pending: true } });
}
