import { Counter, collectDefaultMetrics, Registry } from 'prom-client';
import type { WorkMetrics } from '../domain/metrics.js';

/** Counters of one worker process and its vital signs, in Prometheus' terms. */
export function createWorkerMetrics(): WorkMetrics & { registry: Registry } {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const attempts = new Counter({
    name: 'postback_delivery_attempts_total',
    help: 'Attempts of deliveries, by the state the delivery is in after it.',
    labelNames: ['outcome'],
    registers: [registry],
  });
  const items = new Counter({
    name: 'postback_items_finished_total',
    help: 'Items that have come to their end, by status.',
    labelNames: ['status'],
    registers: [registry],
  });
  return {
    registry,
    deliveryAttempted: (outcome) => attempts.inc({ outcome }),
    itemFinished: (status) => items.inc({ status }),
  };
}
