import { Counter, collectDefaultMetrics, Registry } from 'prom-client';
import type { WorkMetrics } from '../domain/metrics.js';

/** Counters of one worker process, and the process metrics that Prometheus clients report by default. */
export function createWorkerMetrics(): WorkMetrics & { registry: Registry } {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const attempts = new Counter({
    name: 'postback_delivery_attempts_total',
    help: 'Attempts of deliveries, by the state of the delivery afterwards.',
    labelNames: ['outcome'],
    registers: [registry],
  });
  const items = new Counter({
    name: 'postback_items_finished_total',
    help: 'Items that reached a terminal status, by status.',
    labelNames: ['status'],
    registers: [registry],
  });
  return {
    registry,
    deliveryAttempted: (outcome) => attempts.inc({ outcome }),
    itemFinished: (status) => items.inc({ status }),
  };
}
