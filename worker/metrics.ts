import { Counter, Histogram, Registry } from 'prom-client';
import { timeOfId } from '../domain/ids.js';
import type { WorkMetrics } from '../domain/metrics.js';

/** Seconds until a receiver has responded. Attempts have a time limit of at most 25. */
const RESPONSE_BUCKETS = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 25];
/** Seconds from the request to the end of indexing: from a note to a long scan in a long queue. */
const INDEXING_BUCKETS = [0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1_800, 7_200];

/** Counters of the work that one worker process has finished. */
export function createWorkerMetrics(registry = new Registry()): WorkMetrics & { registry: Registry } {
  const registers = [registry];
  const counter = <Label extends string>(name: string, help: string, labelNames: Label[]) =>
    new Counter({ name, help, labelNames, registers });
  const attempts = counter(
    'postback_delivery_attempts_total',
    'Attempts of deliveries, by event and by the state of the delivery afterwards.',
    ['event', 'outcome'],
  );
  const responses = new Histogram({
    name: 'postback_receiver_response_seconds',
    help: 'Time until the receiver of a callback responded or the attempt failed, by event and outcome.',
    labelNames: ['event', 'outcome'],
    buckets: RESPONSE_BUCKETS,
    registers,
  });
  const items = counter('postback_items_finished_total', 'Items that reached a terminal status, by status.', [
    'status',
  ]);
  const indexing = new Histogram({
    name: 'postback_item_indexing_seconds',
    help: 'Time from the request to the end of the indexing of an item, by status.',
    labelNames: ['status'],
    buckets: INDEXING_BUCKETS,
    registers,
  });
  const jobs = counter('postback_jobs_finished_total', 'AI jobs that ended, by status.', ['status']);
  const crews = counter('postback_crews_finished_total', 'Crew executions that ended, by status.', ['status']);
  const syncs = counter('postback_syncs_finished_total', 'Syncs of connectors that ended, by status.', ['status']);
  return {
    registry,
    deliveryAttempted(event, { status: outcome, sent, entry }) {
      attempts.inc({ event, outcome });
      if (sent) responses.observe({ event, outcome }, entry.duration_ms / 1000);
    },
    itemFinished(status, batch) {
      items.inc({ status });
      const accepted = timeOfId(batch);
      if (accepted) indexing.observe({ status }, Math.max(0, Date.now() - accepted.getTime()) / 1000);
    },
    jobFinished: (status) => jobs.inc({ status }),
    crewFinished: (status) => crews.inc({ status }),
    syncFinished: (status) => syncs.inc({ status }),
  };
}
