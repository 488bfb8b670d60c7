import { randomBytes } from 'node:crypto';
import { pino } from 'pino';
import { createAiJobCallback } from '../../activities/ai-jobs/job-callback.js';
import { createCrewCallbacks } from '../../activities/crews/crew-callback.js';
import { createAuthenticationCallback } from '../../activities/payments/authentication-callback.js';
import { createDeliveryActivities, type DeliveryActivities } from '../../activities/webhooks/deliver-webhook.js';
import { createIndexingCallback } from '../../activities/webhooks/indexing-callback.js';
import type { AttemptSlots } from '../../activities/webhooks/receiver-load.js';
import { parseAllowedCidrs } from '../../domain/address-rules.js';
import { createSealer } from '../../domain/sealing.js';
import { DAY_MS, INDEXING_DELIVERY_POLICY } from '../../domain/webhooks/delivery-policy.js';
import type { LaneFlags } from '../../domain/webhooks/lanes.js';
import { createOutboundClient } from '../../providers/outbound/guarded-client.js';
import { createAiJobs } from '../../storage/ai-jobs/jobs.js';
import { createSigningKeys } from '../../storage/ai-jobs/signing-keys.js';
import type { Collections } from '../../storage/collections.js';
import { createCrewSigningSecrets } from '../../storage/crews/signing-secrets.js';
import { createPaymentSigningSecrets } from '../../storage/payments/signing-secrets.js';
import { createClientDeliveries } from '../../storage/webhooks/client-deliveries.js';
import { createDeliveries, type Deliveries } from '../../storage/webhooks/deliveries.js';
import { createLaneQueue, type LaneQueue } from '../../storage/webhooks/lane-queue.js';
import { createLanes } from '../../storage/webhooks/lanes.js';
import { createRegistrations, type Registrations } from '../../storage/webhooks/registrations.js';
import type { DeliveryStarters } from '../../temporal/webhooks/starters.js';
import { createWorkerMetrics } from '../../worker/metrics.js';
import { DELIVERY_SLOTS } from '../../worker/workers.js';

interface HarnessOptions {
  /** Milliseconds within which an indexing receiver must respond. */
  timeoutMs?: number;
  disableAfterMs?: number | null;
  /** Milliseconds between the attempts. */
  scheduleMs?: readonly number[];
  now?: () => Date | Promise<Date>;
  slots?: AttemptSlots;
  starters?: Partial<Pick<DeliveryStarters, 'continueDelivery' | 'startLane'>>;
  deliveries?: Partial<Deliveries>;
  /** Replaced functions of the queue, such as ones that fail. */
  laneQueue?: Partial<LaneQueue>;
  laneFlags?: Partial<LaneFlags>;
  registrations?: Partial<Registrations>;
}

/** The real delivery activities with their stores, under conditions that a running product does not have. */
export function createDeliveryHarness(collections: Collections) {
  const sealer = createSealer(randomBytes(32).toString('base64'));
  const outbound = createOutboundClient({ allowedCidrs: parseAllowedCidrs('127.0.0.0/8') });
  const registrations = createRegistrations(collections, sealer);
  const deliveries = createDeliveries(collections);
  const laneQueue = createLaneQueue(collections);
  const lanes = createLanes(collections, laneQueue);
  const aiJobs = createAiJobs(collections, 30 * DAY_MS);
  const signingKeys = createSigningKeys(collections, sealer);
  const crewSigningSecrets = createCrewSigningSecrets(collections, sealer);
  const paymentSigningSecrets = createPaymentSigningSecrets(collections, sealer);
  const log = pino({ level: 'silent' });
  const { timeoutMs: defaultTimeoutMs } = INDEXING_DELIVERY_POLICY;
  return {
    registrations,
    deliveries,
    clientDeliveries: createClientDeliveries(collections),
    laneQueue,
    lanes,
    aiJobs,
    signingKeys,
    activities: (options: HarnessOptions): DeliveryActivities => create(options).activities,
    create,
    close: () => outbound.close(),
  };

  function create({
    timeoutMs = defaultTimeoutMs,
    disableAfterMs = null,
    scheduleMs = INDEXING_DELIVERY_POLICY.scheduleMs,
    now = () => new Date(),
    slots = DELIVERY_SLOTS,
    starters = {},
    deliveries: replacedDeliveries = {},
    laneQueue: replaced = {},
    laneFlags = {},
    registrations: replacedRegistrations = {},
  }: HarnessOptions) {
    const policy = { ...INDEXING_DELIVERY_POLICY, timeoutMs, scheduleMs };
    return createDeliveryActivities({
      deliveries: { ...deliveries, ...replacedDeliveries },
      laneQueue: { ...laneQueue, ...replaced },
      laneFlags: { ...lanes.flags, ...laneFlags },
      starters: { continueDelivery: async () => undefined, startLane: async () => undefined, ...starters },
      callbacks: {
        ...createCrewCallbacks({ crewSigningSecrets }, policy),
        async_job_completed: createAiJobCallback({ aiJobs, signingKeys }),
        'authentication.ended': createAuthenticationCallback({ paymentSigningSecrets, policy }),
        'indexing.status_changed': createIndexingCallback({
          registrations: { ...registrations, ...replacedRegistrations },
          policy,
          disableAfterMs,
          log,
        }),
      },
      outbound,
      metrics: createWorkerMetrics(),
      log,
      slots,
      random: () => 0.5,
      now,
    });
  }
}

export type DeliveryHarness = ReturnType<typeof createDeliveryHarness>;
