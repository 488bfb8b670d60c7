import {
  ScheduleAlreadyRunning,
  ScheduleNotFoundError,
  type ScheduleOptions,
  ScheduleOverlapPolicy,
} from '@temporalio/client';
import { intervalOf } from '../../domain/connectors/connectors.js';
import type { SyncRef } from '../../domain/connectors/workflow-contract.js';
import type { ConnectorRecord } from '../../storage/connectors/connectors.js';
import { WORKFLOW_DETAILS } from '../workflow-details.js';
import { workflowIds } from '../workflow-ids.js';
import { ownedBy, type WorkflowStarter } from '../workflow-starter.js';

/** What its schedule needs of a connector. */
type ScheduledConnector = Pick<ConnectorRecord, '_id' | 'org' | 'kind' | 'database' | 'schedule' | 'deleted_at'>;

type ConnectorName = Pick<ScheduledConnector, '_id' | 'org'>;

/** Syncs of a connector never overlap. After an outage, one sync replaces all that were missed. */
const POLICIES = { overlap: ScheduleOverlapPolicy.SKIP, catchupWindow: '1 minute' } as const;

export type ConnectorStarters = ReturnType<typeof createConnectorStarters>;

/** Manages the Temporal schedule of each connector and starts the removal of deleted connectors. Every call can be repeated. */
export function createConnectorStarters({ client, start }: WorkflowStarter) {
  const scheduleOf = ({ org, _id }: ConnectorName) => client.schedule.getHandle(workflowIds.sync(org, _id));

  return {
    /** Applies the record to Temporal: creates or updates the schedule, or removes it and starts the connector's removal. */
    async applyConnector(connector: ScheduledConnector): Promise<void> {
      if (connector.deleted_at === null) return putSchedule(connector);
      await removeSchedule(connector);
      await startRemoval(connector);
    },

    /** Starts a sync unless one is running. @throws ScheduleNotFoundError */
    async triggerSync(connector: ConnectorName): Promise<void> {
      await scheduleOf(connector).trigger(ScheduleOverlapPolicy.SKIP);
    },

    /** @returns when the next sync is due (null while paused), and whether a sync is running */
    async describeSchedule(connector: ConnectorName): Promise<{ next: Date | null; running: boolean }> {
      try {
        const { info, state } = await scheduleOf(connector).describe();
        return {
          next: state.paused ? null : (info.nextActionTimes[0] ?? null),
          running: info.runningActions.length > 0,
        };
      } catch (error) {
        // The connector is on record, and the reconciler will create its schedule.
        if (error instanceof ScheduleNotFoundError) return { next: null, running: false };
        throw error;
      }
    },
  };

  /** Creates the schedule or updates it. A connector that has never synced then syncs at once, unless it is paused. */
  async function putSchedule(connector: ScheduledConnector): Promise<void> {
    const options = scheduleOptions(connector);
    const schedule = scheduleOf(connector);
    let isNew = true;
    try {
      await client.schedule.create(options);
    } catch (error) {
      if (!(error instanceof ScheduleAlreadyRunning)) throw error;
      await schedule.update((previous) => {
        isNew = previous.info.numActionsTaken === 0;
        return { ...previous, spec: options.spec, state: { ...previous.state, paused: connector.schedule.paused } };
      });
    }
    // `triggerImmediately` would not count its sync as running, so a second sync could start beside it.
    if (isNew && !connector.schedule.paused) await schedule.trigger(ScheduleOverlapPolicy.SKIP);
  }

  async function removeSchedule(connector: ConnectorName): Promise<void> {
    try {
      await scheduleOf(connector).delete();
    } catch (error) {
      if (!(error instanceof ScheduleNotFoundError)) throw error;
    }
  }

  /** Clears the remaining data of a deleted connector. */
  async function startRemoval({ _id, org, database }: ScheduledConnector): Promise<void> {
    await start('removeConnector', {
      workflowId: workflowIds.connectorRemoval(org, _id),
      taskQueue: 'control',
      args: [{ connector: _id, org }],
      staticSummary: `Remove a connector of ${database}`,
      ...ownedBy({ org, database, source: _id }),
    });
  }
}

function scheduleOptions({ _id, org, kind, database, schedule }: ScheduledConnector): ScheduleOptions {
  const intervalMs = intervalOf(schedule);
  return {
    scheduleId: workflowIds.sync(org, _id),
    spec: { intervals: [{ every: intervalMs }], jitter: Math.min(intervalMs / 10, 60_000) },
    policies: POLICIES,
    state: { paused: schedule.paused },
    action: {
      type: 'startWorkflow',
      workflowType: 'syncConnector',
      workflowId: workflowIds.sync(org, _id),
      taskQueue: 'connectors',
      args: [{ connector: _id, org } satisfies SyncRef],
      staticSummary: `Sync a ${kind} connector into ${database}`,
      staticDetails: WORKFLOW_DETAILS.syncConnector,
      ...ownedBy({ org, database, source: _id }),
    },
  };
}
