import { type Client, ScheduleAlreadyRunning, ScheduleOverlapPolicy } from '@temporalio/client';

/** Schedule and workflow id. The registered names are older than the word reconciler, and stay. */
const ID = 'sweep';

/**
 * Creates or updates the schedule of the reconciler, which starts work whose workflow is missing.
 * @param everySeconds the interval between two runs
 */
export async function ensureReconcileSchedule(client: Client, everySeconds: number): Promise<void> {
  const spec = { intervals: [{ every: everySeconds * 1000 }] };
  try {
    await client.schedule.create({
      scheduleId: ID,
      spec,
      policies: { overlap: ScheduleOverlapPolicy.SKIP, catchupWindow: '1 minute' },
      action: { type: 'startWorkflow', workflowType: 'sweep', workflowId: ID, taskQueue: 'content', args: [] },
    });
  } catch (error) {
    if (!(error instanceof ScheduleAlreadyRunning)) throw error;
    await client.schedule.getHandle(ID).update((previous) => ({ ...previous, spec }));
  }
}
