import Router from '@koa/router';
import { z } from 'zod';
import { JOB_STATUSES } from '../domain/ai-jobs/states.js';
import { INDEXING_STATUSES } from '../domain/content/states.js';
import { MAX_COUNTED } from '../domain/metrics.js';
import { DELIVERY_STATES } from '../domain/webhooks/states.js';
import type { Activity } from '../storage/activity.js';
import { adaptiveCache } from './adaptive-cache.js';
import type { Dependencies } from './dependencies.js';
import { contentEnvelope } from './envelope.js';
import { numberParameter } from './number-parameter.js';
import { operations } from './operation.js';
import type { RequestState } from './request-context.js';

const INTERVALS = 48;
const HOUR_MS = 3_600_000;

const time = z.iso.datetime();
const count = z.int().nonnegative();

const truncated = z.boolean().meta({
  description: `A count of ${MAX_COUNTED.toLocaleString('en')} is that many or more: further records were not counted.`,
});

const activitySchema = z
  .object({
    from: time,
    to: time,
    items: z.object({ by_status: z.partialRecord(z.enum(INDEXING_STATUSES), count), truncated }),
    jobs: z
      .object({ by_status: z.partialRecord(z.enum(JOB_STATUSES), count), truncated })
      .meta({ description: 'Submitted in the period, or unfinished.' }),
    deliveries: z
      .object({
        by_status: z.partialRecord(z.enum(DELIVERY_STATES), count),
        attempts: z
          .array(
            z
              .object({
                at: time.meta({ description: 'The start of the interval.' }),
                succeeded: count,
                failed: count,
                p50_ms: z.number().meta({ description: 'Half of the attempts took at most this long.' }),
                p95_ms: z.number().meta({ description: '95 of 100 attempts took at most this long.' }),
              })
              .meta({ id: 'AttemptInterval' }),
          )
          .meta({ description: 'Intervals with attempts, oldest first.' }),
        interval_seconds: z.int(),
        truncated: z.boolean().meta({ description: 'Only the newest deliveries of the period were counted.' }),
      })
      .meta({ description: 'Webhooks of items and callbacks of all services that were created in the period.' }),
  })
  .meta({ id: 'Activity' });

/** `GET /usage/activity`: counts for charts. */
export function activityRoutes({ activity, now }: Dependencies): Router<RequestState> {
  const router = new Router<RequestState>();
  // Every open page of the console requests it again and again.
  const cached = adaptiveCache<z.input<typeof activitySchema>>();
  router.get(
    '/usage/activity',
    operations('Usage', contentEnvelope)(
      {
        summary: 'Get recent activity',
        description:
          'All items by status; jobs, deliveries and the attempts at these in the last hours, in 48 intervals of equal length. ' +
          'Large numbers are counted less often: the response may then be up to 30 seconds old, as `to` says.',
        query: z.object({ hours: numberParameter(z.number().int().min(1).max(168)).default(24) }),
        response: activitySchema,
      },
      async (_ctx, { org, query: { hours }, respond }) => {
        respond(await cached(`${hours} ${org}`, () => measure(activity, org, hours, now())));
      },
    ),
  );
  return router;
}

async function measure(
  activity: Activity,
  org: string,
  hours: number,
  to: Date,
): Promise<z.input<typeof activitySchema>> {
  const period = { from: new Date(to.getTime() - hours * HOUR_MS), to, intervalMs: (hours * HOUR_MS) / INTERVALS };
  const [items, jobs, deliveries] = await Promise.all([
    activity.itemsByStatus(org),
    activity.jobsByStatus(org, period),
    activity.deliveries(org, period),
  ]);
  return {
    from: period.from.toISOString(),
    to: to.toISOString(),
    items,
    jobs,
    deliveries: {
      by_status: deliveries.by_status,
      attempts: deliveries.attempts.map(({ at, ...interval }) => ({ at: at.toISOString(), ...interval })),
      interval_seconds: period.intervalMs / 1000,
      truncated: deliveries.truncated,
    },
  };
}
