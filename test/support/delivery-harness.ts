import { randomBytes } from 'node:crypto';
import { pino } from 'pino';
import { createAiJobCallback } from '../../activities/ai-jobs/job-callback.js';
import { createDeliveryActivities, type DeliveryActivities } from '../../activities/webhooks/deliver-webhook.js';
import { createIndexingCallback } from '../../activities/webhooks/indexing-callback.js';
import { createMessageCallback, forCrewEvents } from '../../activities/webhooks/message-callback.js';
import {
  createFailureNotices,
  createOperatorCallback,
  type OperatorReceiver,
} from '../../activities/webhooks/operator-callback.js';
import { createReceiverRates, type ReceiverRates } from '../../activities/webhooks/receiver-rates.js';
import { createSender, type Sender } from '../../activities/webhooks/sender.js';
import { parseAllowedCidrs } from '../../domain/address-rules.js';
import { createSealer } from '../../domain/sealing.js';
import { DAY_MS, INDEXING_DELIVERY_POLICY } from '../../domain/webhooks/delivery-policy.js';
import type { Lookup } from '../../providers/outbound/connector.js';
import { createOutboundClient } from '../../providers/outbound/guarded-client.js';
import { createAiJobs } from '../../storage/ai-jobs/jobs.js';
import { createSigningKeys } from '../../storage/ai-jobs/signing-keys.js';
import type { Collections } from '../../storage/collections.js';
import { createProcesses } from '../../storage/processes.js';
import { createClientDeliveries } from '../../storage/webhooks/client-deliveries.js';
import { createDeliveries, type Deliveries } from '../../storage/webhooks/deliveries.js';
import { createDeliveryQueue, type DeliveryQueue } from '../../storage/webhooks/delivery-queue.js';
import { createOperatorNotices } from '../../storage/webhooks/operator-notices.js';
import { createRegistrations, type Registrations } from '../../storage/webhooks/registrations.js';
import { createOrganisationSecrets } from '../../storage/webhooks/signing-secrets.js';
import { createHeaderSealing } from '../../storage/webhooks/static-headers.js';
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
  places?: number;
  starters?: Partial<Pick<DeliveryStarters, 'continueDelivery' | 'startBacklog'>>;
  deliveries?: Partial<Deliveries>;
  /** Replaced functions of the queue, such as ones that fail. */
  deliveryQueue?: Partial<DeliveryQueue>;
  registrations?: Partial<Registrations>;
  receiverRates?: ReceiverRates;
  /** The operator's receiver; by default there is none. */
  operator?: OperatorReceiver & { periodMs: number };
}

/**
 * The real delivery activities with their stores, under conditions that a running product does not have.
 * @param lookup resolves the names of receivers, instead of the machine's name servers
 */
export function createDeliveryHarness(collections: Collections, lookup?: Lookup) {
  const sealer = createSealer(randomBytes(32).toString('base64'));
  const allowedCidrs = parseAllowedCidrs('127.0.0.0/8');
  const outbound = createOutboundClient({ allowedCidrs, ...(lookup ? { lookup } : {}) });
  const registrations = createRegistrations(collections, sealer);
  const deliveries = createDeliveries(collections);
  const deliveryQueue = createDeliveryQueue(collections);
  const aiJobs = createAiJobs(collections, 30 * DAY_MS);
  const signingKeys = createSigningKeys(collections, sealer);
  const crewSigningSecrets = createOrganisationSecrets(collections, sealer, 'crew');
  const paymentSigningSecrets = createOrganisationSecrets(collections, sealer, 'payment');
  const jobHeaders = createHeaderSealing(sealer, 'job-headers');
  const crewHeaders = createHeaderSealing(sealer, 'crew-headers');
  const log = pino({ level: 'silent' });
  const senders: Sender[] = [];
  const { timeoutMs: defaultTimeoutMs } = INDEXING_DELIVERY_POLICY;
  return {
    registrations,
    deliveries,
    clientDeliveries: createClientDeliveries(collections),
    deliveryQueue,
    aiJobs,
    signingKeys,
    activities: (options: HarnessOptions): DeliveryActivities => create(options).activities,
    create,
    /** Stops the senders after the attempts in progress. */
    stop: () => Promise.all(senders.splice(0).map((sender) => sender.stop())),
    /** Stops the senders, and cancels their attempts. */
    async close(): Promise<void> {
      await Promise.all([...senders.map((sender) => sender.stop()), outbound.close()]);
    },
  };

  function create({
    timeoutMs = defaultTimeoutMs,
    disableAfterMs = null,
    scheduleMs = INDEXING_DELIVERY_POLICY.scheduleMs,
    now = () => new Date(),
    places = DELIVERY_SLOTS.all,
    starters = {},
    deliveries: replacedDeliveries = {},
    deliveryQueue: replaced = {},
    registrations: replacedRegistrations = {},
    operator,
    receiverRates = createReceiverRates({ registrations, processes: createProcesses(collections) }),
  }: HarnessOptions) {
    const policy = { ...INDEXING_DELIVERY_POLICY, timeoutMs, scheduleMs };
    const stores = { deliveries: { ...deliveries, ...replacedDeliveries } };
    const notices = createFailureNotices(operator ? createOperatorNotices(collections, operator) : null, log);
    const sender = createSender({
      ...stores,
      deliveryQueue: { ...deliveryQueue, ...replaced },
      starters: { continueDelivery: async () => undefined, startBacklog: async () => undefined, ...starters },
      callbacks: {
        ...forCrewEvents(createMessageCallback({ policy, secrets: crewSigningSecrets, headers: crewHeaders })),
        async_job_completed: createAiJobCallback({ aiJobs, signingKeys, jobHeaders }),
        'operator.notice': createOperatorCallback(operator ?? null, policy),
        'authentication.ended': createMessageCallback({ policy, secrets: paymentSigningSecrets, alwaysSigned: true }),
        'indexing.status_changed': createIndexingCallback({
          registrations: { ...registrations, ...replacedRegistrations },
          policy,
          disableAfterMs,
          notices,
          log,
        }),
      },
      outbound,
      notices,
      metrics: createWorkerMetrics(),
      log,
      receiverRates,
      places,
      random: () => 0.5,
      now,
    });
    senders.push(sender);
    sender.start();
    return { sender, activities: createDeliveryActivities({ ...stores, sender, now }) };
  }
}

export type DeliveryHarness = ReturnType<typeof createDeliveryHarness>;
