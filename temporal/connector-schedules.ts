import {
  type Client,
  ScheduleAlreadyRunning,
  ScheduleNotFoundError,
  type ScheduleOptions,
  ScheduleOverlapPolicy,
} from '@temporalio/client';
import type { SearchAttributePair } from '@temporalio/common';
import { workflowIds } from '../domain/ids.js';
import type { SyncRef } from '../domain/work.js';

/** What the schedule has to know of a connector; a `ConnectorRecord` with its interval has it all. */
export interface SchedulableConnector {
  _id: string;
  org: string;
  kind: string;
  database: string;
  /** Milliseconds between two syncs. */
  intervalMs: number;
  paused: boolean;
}

/** A second sync is never started beside one that runs. After an outage one sync makes up for all that were missed. */
const POLICIES = { overlap: ScheduleOverlapPolicy.SKIP, catchupWindow: '1 minute' } as const;

/** The Temporal Schedule of each connector. Everything here may be repeated. */
export function createConnectorSchedules(
  client: Client,
  attributesOf: (connector: SchedulableConnector) => SearchAttributePair[],
) {
  const handleOf = ({ org, _id }: { org: string; _id: string }) =>
    client.schedule.getHandle(workflowIds.sync(org, _id));

  function optionsOf(connector: SchedulableConnector): ScheduleOptions {
    const { _id, org, kind, database, intervalMs, paused } = connector;
    return {
      scheduleId: workflowIds.sync(org, _id),
      spec: { intervals: [{ every: intervalMs }], jitter: Math.min(intervalMs / 10, 60_000) },
      policies: POLICIES,
      state: { paused },
      action: {
        type: 'startWorkflow',
        workflowType: 'syncConnector',
        workflowId: workflowIds.sync(org, _id),
        taskQueue: 'connectors',
        args: [{ connector: _id, org } satisfies SyncRef],
        staticSummary: `Sync a ${kind} connector into ${database}`,
        typedSearchAttributes: attributesOf(connector),
      },
    };
  }

  return {
    /** Makes the schedule or changes it. One that has never synced then syncs at once, unless it is paused. */
    async put(connector: SchedulableConnector): Promise<void> {
      const options = optionsOf(connector);
      const schedule = handleOf(connector);
      let isNew = true;
      try {
        await client.schedule.create(options);
      } catch (error) {
        if (!(error instanceof ScheduleAlreadyRunning)) throw error;
        await schedule.update((previous) => {
          isNew = previous.info.numActionsTaken === 0;
          return { ...previous, spec: options.spec, state: { ...previous.state, paused: connector.paused } };
        });
      }
      // Not by `triggerImmediately`: what that starts is not counted as running, so a second sync would start beside it.
      if (isNew && !connector.paused) await schedule.trigger(ScheduleOverlapPolicy.SKIP);
    },

    /** Syncs now, unless a sync runs. @throws ScheduleNotFoundError */
    async trigger(connector: { org: string; _id: string }): Promise<void> {
      await handleOf(connector).trigger(ScheduleOverlapPolicy.SKIP);
    },

    /** When the next sync is due, and whether one runs. */
    async describe(connector: { org: string; _id: string }): Promise<{ next: Date | null; running: boolean }> {
      try {
        const { info, state } = await handleOf(connector).describe();
        return {
          next: state.paused ? null : (info.nextActionTimes[0] ?? null),
          running: info.runningActions.length > 0,
        };
      } catch (error) {
        // It was written down, and the sweep will make it.
        if (error instanceof ScheduleNotFoundError) return { next: null, running: false };
        throw error;
      }
    },

    async remove(connector: { org: string; _id: string }): Promise<void> {
      await handleOf(connector)
        .delete()
        .catch((error) => {
          if (!(error instanceof ScheduleNotFoundError)) throw error;
        });
    },
  };
}
