import { type Client, ScheduleNotFoundError, WorkflowNotFoundError } from '@temporalio/client';
import { SEARCH_ATTRIBUTES } from '../domain/search-attributes.js';
import type * as workflows from '../workflows/index.js';
import { workflowIds } from './workflow-ids.js';

/** Workflows that only wait. Their records say how they continue, so another cell can start them again. */
const WAITING: readonly (keyof typeof workflows)[] = ['deliverWebhook', 'runCrew', 'expireAuthentication'];

/** Calls to Temporal in progress. */
const AT_A_TIME = 20;

export type OrganisationWork = ReturnType<typeof createOrganisationWork>;

/** The workflows and schedules of an organisation, for its move to another cell. Every call can be repeated. */
export function createOrganisationWork(client: Client) {
  const open = (org: string) =>
    `${SEARCH_ATTRIBUTES.organisation.name} = '${org.replaceAll("'", "''")}' AND ExecutionStatus = 'Running'`;

  return {
    /** Removes the schedules of connectors, and cancels their syncs, which end in a stored state. */
    async stopConnectors(org: string, connectors: readonly string[]): Promise<void> {
      for (const connector of connectors) {
        const schedule = client.schedule.getHandle(workflowIds.sync(org, connector));
        await schedule.delete().catch(ignore(ScheduleNotFoundError));
      }
      for await (const { workflowId } of client.workflow.list({
        query: `${open(org)} AND WorkflowType = 'syncConnector'`,
      })) {
        await client.workflow.getHandle(workflowId).cancel().catch(ignore(WorkflowNotFoundError));
      }
    },

    /**
     * Ends the workflows that only wait. A workflow with an activity in progress is left, because the activity would go on.
     * @returns how many workflows of the organisation are left, by type
     */
    async endWaiting(org: string): Promise<Record<string, number>> {
      const left: Record<string, number> = {};
      const keep = (type: string) => {
        left[type] = (left[type] ?? 0) + 1;
      };
      const ending = new Set<Promise<void>>();
      for await (const { workflowId, runId, type } of client.workflow.list({ query: open(org) })) {
        if (!(WAITING as readonly string[]).includes(type)) {
          keep(type);
          continue;
        }
        const ended = end(workflowId, runId, type)
          .then((done) => (done ? undefined : keep(type)))
          .finally(() => ending.delete(ended));
        ending.add(ended);
        if (ending.size >= AT_A_TIME) await Promise.race(ending);
      }
      await Promise.all(ending);
      return left;
    },

    /** Ends the workflow of a crew that waits, even if the list of workflows does not show it yet. @returns whether it has ended */
    endCrew: (execution: string): Promise<boolean> => end(workflowIds.crew(execution), undefined, 'runCrew'),

    /** The same for the timer of an authentication. */
    endExpiry: (authentication: string): Promise<boolean> =>
      end(workflowIds.authentication(authentication), undefined, 'expireAuthentication'),
  };

  async function end(workflowId: string, runId: string | undefined, type: string): Promise<boolean> {
    const handle = client.workflow.getHandle(workflowId, runId);
    try {
      const { status, raw } = await handle.describe();
      if (status.name !== 'RUNNING') return true;
      // A delivery's activity waits for the time of the next attempt; its attempts are claims in its record.
      if (type !== 'deliverWebhook' && (raw.pendingActivities?.length ?? 0) > 0) return false;
      await handle.terminate('The organisation moves to another cell.');
    } catch (error) {
      ignore(WorkflowNotFoundError)(error);
    }
    return true;
  }
}

function ignore(expected: new (...args: never[]) => Error) {
  return (error: unknown): void => {
    if (!(error instanceof expected)) throw error;
  };
}
