import { describe, expect, test } from '@jest/globals';
import { createOutcomeRecorder, type RecordableAttempt } from '../../activities/webhooks/outcome-recorder.js';
import { newDeliveryId } from '../../domain/ids.js';
import type { DeliveryQueue } from '../../storage/webhooks/delivery-queue.js';
import { deliveryRecord } from '../support/records.js';

describe('outcomes', () => {
  const recorderOf = (record: DeliveryQueue['record'], errors: unknown[]) =>
    createOutcomeRecorder({
      deliveryQueue: { record },
      handoff: { hasWorkflow: async () => false, handOver: () => undefined, settled: async () => undefined },
      notices: { deliveriesFailed: async () => undefined },
      metrics: { deliveryAttempted: () => undefined },
      log: { error: (entry: unknown) => void errors.push(entry), info: () => undefined, warn: () => undefined },
      now: () => new Date(),
      expectsMore: () => true,
    });
  const attempt = (attempted?: () => Promise<void>): RecordableAttempt => {
    const now = new Date();
    return {
      claimed: deliveryRecord({ _id: newDeliveryId(new Date()), org: 'quick', now }),
      recorded: {
        status: 'delivered',
        sent: true,
        entry: { at: now, status_code: 204, duration_ms: 1, error: null, answer: '' },
        url: null,
        next_attempt_at: null,
        error_code: null,
        error_message: null,
      },
      ...(attempted ? { request: { url: '', headers: {}, body: Buffer.of(), attempted, receiver: {} } } : {}),
    };
  };

  test('are stored although their receiver cannot be updated', async () => {
    const errors: unknown[] = [];
    const recorder = recorderOf(async (outcomes) => [...outcomes], errors);
    const stored = await recorder.add(attempt(() => Promise.reject(new Error('no primary'))));
    expect(stored).toMatchObject({ recorded: { status: 'delivered' } });
    expect(errors).toHaveLength(1);
  });

  test('are stored although one of them cannot be', async () => {
    const errors: unknown[] = [];
    const bad = attempt();
    const recorder = recorderOf(async (outcomes) => {
      if (outcomes.some(({ claimed }) => claimed === bad.claimed)) throw new Error('the document is too large');
      return [...outcomes];
    }, errors);
    const stored = await Promise.all([attempt(), bad, attempt()].map((each) => recorder.add(each)));
    expect(stored.map((each) => each !== null)).toEqual([true, false, true]);
    expect(errors).toHaveLength(1);
  });
});
