import { Counter, Gauge, type Registry } from 'prom-client';
import { UNFINISHED_JOB_STATUSES } from '../domain/ai-jobs/states.js';
import { UNFINISHED_INDEXING_STATUSES } from '../domain/content/states.js';
import { UNFINISHED_EXECUTION_STATUSES } from '../domain/crews/states.js';
import type { Backlog, InstallationHealth, Waiting } from '../domain/metrics.js';
import { OPEN_AUTHENTICATION_STATES } from '../domain/payments/states.js';
import { UNFINISHED_DELIVERY_STATES } from '../domain/webhooks/states.js';

/** How long a count is used again, so that scrapes cannot load MongoDB. */
const VALID_MS = 10_000;

/** States that are listed with 0 when no record has them. */
const STATES = {
  items: UNFINISHED_INDEXING_STATUSES,
  deliveries: UNFINISHED_DELIVERY_STATES,
  jobs: UNFINISHED_JOB_STATUSES,
  crews: UNFINISHED_EXECUTION_STATUSES,
  authentications: OPEN_AUTHENTICATION_STATES,
} as const;

/**
 * Gauges of the work that is not finished. They are about the whole installation, so every API process reports the same.
 * @returns a function that brings them up to date
 */
export function createBacklogMetrics(
  registry: Registry,
  readBacklog: (now: Date) => Promise<Backlog>,
  readHealth: () => Promise<InstallationHealth>,
  clock: () => Date,
): () => Promise<void> {
  const gauge = (name: string, help: string) => new Gauge({ name, help, registers: [registry] });
  const byState = (name: string, help: string) =>
    new Gauge({ name, help, labelNames: ['status'], registers: [registry] });

  const items = byState('postback_items_unfinished', 'Items in progress, by status; counted up to 10,000.');
  const itemAge = gauge('postback_index_lag_seconds', 'Age of the oldest item that is still in progress.');
  const rows = gauge('postback_index_rows_due', 'Items whose index rows do not show their latest change.');
  const deliveries = byState(
    'postback_deliveries_unfinished',
    'Deliveries that are not final, by state; up to 10,000.',
  );
  const due = gauge('postback_deliveries_due', 'Deliveries that could be attempted now.');
  const dueAge = gauge('postback_delivery_lag_seconds', 'For how long the first of the due deliveries has been due.');
  const jobs = byState('postback_jobs_unfinished', 'AI jobs in progress, by status; counted up to 10,000.');
  const jobAge = gauge('postback_job_lag_seconds', 'Age of the oldest AI job that is still in progress.');
  const crews = byState('postback_crews_unfinished', 'Crew executions in progress, by status; counted up to 10,000.');
  const crewWait = gauge('postback_crew_wait_seconds', 'For how long the first of the crews has waited for a person.');
  const open = byState('postback_authentications_open', 'Payment authentications that can still be used, by status.');
  const restarts = new Counter({
    name: 'postback_process_restarts_total',
    help: 'Processes that ended without being asked to, by role and reason: by an error, or lost (killed or crashed).',
    labelNames: ['role', 'reason'],
    registers: [registry],
  });
  const unserved = gauge('postback_queues_without_worker', 'Task queues that no running worker serves.');
  const sweepAge = gauge('postback_reconciler_age_seconds', 'Time since the search for lost work was completed.');
  const readable = gauge('postback_backlog_readable', '1 when the counts above are up to date, 0 when MongoDB failed.');

  let reading: Promise<void> | undefined;
  let readAt = Number.NEGATIVE_INFINITY;

  return () => {
    if (performance.now() - readAt < VALID_MS) return Promise.resolve();
    reading ??= refresh().finally(() => {
      reading = undefined;
    });
    return reading;
  };

  async function refresh(): Promise<void> {
    const now = clock();
    try {
      show(await readBacklog(now), now);
      showHealth(await readHealth(), now);
      readable.set(1);
    } catch {
      readable.set(0);
    }
    readAt = performance.now();
  }

  function showHealth({ ends, queuesWithoutWorker, sweptAt }: InstallationHealth, now: Date): void {
    restarts.reset();
    for (const { role, reason, count } of ends) restarts.inc({ role, reason }, count);
    unserved.set(queuesWithoutWorker.length);
    sweepAge.set(secondsSince(sweptAt, now));
  }

  function show(backlog: Backlog, now: Date): void {
    const ageOf = (time: Date | null) => secondsSince(time, now);
    setCounts(items, STATES.items, backlog.items);
    setCounts(deliveries, STATES.deliveries, backlog.deliveries);
    setCounts(jobs, STATES.jobs, backlog.jobs);
    setCounts(crews, STATES.crews, backlog.crews);
    setCounts(open, STATES.authentications, backlog.authentications);
    itemAge.set(ageOf(backlog.items.oldest));
    rows.set(backlog.rowsDue);
    due.set(backlog.deliveriesDue.count);
    dueAge.set(ageOf(backlog.deliveriesDue.since));
    jobAge.set(ageOf(backlog.jobs.oldest));
    crewWait.set(ageOf(backlog.crewsWaitingSince));
  }
}

/** 0 without a time. */
function secondsSince(time: Date | null, now: Date): number {
  return time === null ? 0 : Math.max(0, now.getTime() - time.getTime()) / 1000;
}

function setCounts(gauge: Gauge<'status'>, states: readonly string[], { counts }: Waiting): void {
  for (const status of states) gauge.set({ status }, counts[status] ?? 0);
}
