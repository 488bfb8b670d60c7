import { describe, expect, test } from '@jest/globals';
import { createOutcomeRecorder } from '../../activities/webhooks/outcome-recorder.js';
import { newDeliveryId } from '../../domain/ids.js';
import { createLaneSwitch, laneOf } from '../../domain/webhooks/lanes.js';
import { createLaneWaker } from '../../temporal/webhooks/lane-waker.js';
import { deliveryRecord } from '../support/records.js';

test('an outcome is stored although its receiver cannot be updated', async () => {
  const errors: unknown[] = [];
  const recorder = createOutcomeRecorder({
    laneQueue: { record: async (outcomes) => [...outcomes] },
    departures: { hasRoom: async () => true, leave: () => undefined, settled: async () => undefined },
    metrics: { deliveryAttempted: () => undefined },
    log: { error: (entry: unknown) => void errors.push(entry), info: () => undefined, warn: () => undefined },
    now: () => new Date(),
  });
  const now = new Date();
  const attempted = () => Promise.reject(new Error('no primary'));
  const stored = await recorder.add({
    claimed: deliveryRecord({ _id: newDeliveryId(), org: 'quick', now, lane: 2 }),
    recorded: {
      status: 'delivered',
      sent: true,
      entry: { at: now, status_code: 204, duration_ms: 1, error: null, answer: '' },
      url: null,
      next_attempt_at: null,
      error_code: null,
      error_message: null,
    },
    request: { url: '', headers: {}, body: Buffer.of(), attempted, receiver: {} },
  });
  expect(stored).toBe(true);
  expect(errors).toHaveLength(1);
});

describe('waking a lane', () => {
  const raised = new Set<number>();
  const flags = {
    raise: async (lane: number) => raised.has(lane) || !raised.add(lane),
    lower: async (lane: number) => void raised.delete(lane),
  };
  const signals: number[] = [];
  const waker = (fails = false) =>
    createLaneWaker(async (lane) => {
      if (fails) throw new Error('Temporal cannot be reached');
      signals.push(lane);
    }, flags);

  test('takes one signal while the lane runs, from all processes together', async () => {
    const [first, second] = [waker(), waker()];
    for (let n = 0; n < 5; n += 1) await Promise.all([first(1), second(1), first(3)]);
    expect(signals.sort()).toEqual([1, 3]);
    await flags.lower(1);
    await waker()(1);
    expect(signals.sort()).toEqual([1, 1, 3]);
  });

  test('takes one look at the flag for many deliveries at the same time', async () => {
    let looks = 0;
    const raise = (lane: number) => {
      looks += 1;
      return flags.raise(lane);
    };
    const wake = createLaneWaker(async () => undefined, { ...flags, raise });
    await Promise.all([wake(5), wake(5), wake(5)]);
    expect(looks).toBe(1);
  });

  test('is tried again by the next delivery when it fails', async () => {
    signals.length = 0;
    await expect(waker(true)(7)).rejects.toThrow('Temporal');
    await waker()(7);
    expect(signals).toEqual([7]);
  });
});

describe('new deliveries', () => {
  const receivers = (count: number) => Array.from({ length: count }, (_, n) => `receiver-${n}`);

  test('have workflows of their own at low load', () => {
    let now = 0;
    const { lanesFor } = createLaneSwitch({ lanes: 4, clock: () => now });
    for (let n = 0; n < 100; n += 1, now += 67) expect(lanesFor(['receiver'])).toEqual([null]);
    now += 1_000;
    expect(lanesFor(receivers(10))).toEqual(receivers(10).map(() => null));
  });

  test('go into lanes when there are many in a second, or in one transaction', () => {
    const busy = createLaneSwitch({ lanes: 4, clock: () => 0 });
    for (let n = 0; n < 15; n += 1) expect(busy.lanesFor(['receiver'])).toEqual([null]);
    expect(busy.lanesFor(['receiver'])).toEqual([laneOf('receiver', 4)]);
    const large = createLaneSwitch({ lanes: 4, clock: () => 0 });
    expect(large.lanesFor(receivers(11))).toEqual(receivers(11).map((receiver) => laneOf(receiver, 4)));
    expect(createLaneSwitch({ lanes: 0 }).lanesFor(receivers(20))).toEqual(receivers(20).map(() => null));
  });

  test('of many receivers use all lanes', () => {
    expect(new Set(receivers(50).map((receiver) => laneOf(receiver, 4)))).toEqual(new Set([0, 1, 2, 3]));
  });
});
