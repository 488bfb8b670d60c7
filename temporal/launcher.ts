import {
  type Client,
  ScheduleAlreadyRunning,
  ScheduleOverlapPolicy,
  WorkflowExecutionAlreadyStartedError,
  WorkflowNotFoundError,
  type WorkflowStartOptions,
} from '@temporalio/client';
import { defineSearchAttributeKey, type SearchAttributePair } from '@temporalio/common';
import { workflowIds } from '../domain/ids.js';
import type { DatabaseRef, DeliveryRef, IngestRef, ItemRef, JobRef, RemovalRef, SyncRef } from '../domain/work.js';
import { createConnectorSchedules } from './connector-schedules.js';
import { crewLaunches } from './crews.js';

const ORGANISATION = defineSearchAttributeKey('PostbackOrganisation', 'KEYWORD');
const DATABASE = defineSearchAttributeKey('PostbackDatabase', 'KEYWORD');
const MODEL = defineSearchAttributeKey('PostbackModel', 'KEYWORD');
const SOURCE = defineSearchAttributeKey('PostbackSource', 'KEYWORD');

/** What the launcher has to know of an item; an `ItemRecord` has it all. */
export interface LaunchableItem {
  _id: string;
  org: string;
  database: string;
  tenant: string;
  id: string;
  version: number;
}

export interface LaunchableDelivery {
  _id: string;
  org: string;
  doc_id: string;
  event_type: string;
  receiver?: string | null;
  /** Of an item's end: names its database. */
  payload: { database: string } | null;
}

export interface LaunchableJob {
  _id: string;
  org: string;
  feature: string;
  subfeature: string;
  provider: string;
  time_limit_ms: number;
}

export type Launcher = ReturnType<typeof createLauncher>;

/**
 * Starts and signals every workflow: the one place that says under which id, on which queue and with which
 * search attributes. Starting is idempotent, the id is the record's; a start that comes twice does nothing.
 * @param deadlineMs for each call; without one the client tries for as long as it sees fit
 */
export function createLauncher(client: Client, deadlineMs?: number) {
  const call = <T>(ask: () => Promise<T>): Promise<T> =>
    deadlineMs === undefined ? ask() : client.withDeadline(Date.now() + deadlineMs, ask);

  async function start(
    workflow: string,
    options: Omit<WorkflowStartOptions, 'args'> & { args: unknown[] },
  ): Promise<void> {
    try {
      // A run that an operator terminated, or that failed, may be started again; one that ended well may not.
      const policy = { workflowIdReusePolicy: 'ALLOW_DUPLICATE_FAILED_ONLY', ...options } as const;
      await call(() => client.workflow.start(workflow, policy));
    } catch (error) {
      if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
    }
  }

  function deliveryOptions(delivery: LaunchableDelivery) {
    const { org, doc_id: source, event_type } = delivery;
    const database = delivery.payload?.database;
    return {
      workflowId: workflowIds.delivery(delivery._id),
      // A new run over an ended delivery finds nothing to do; over one that was put back, it is just what is needed.
      workflowIdReusePolicy: 'ALLOW_DUPLICATE' as const,
      taskQueue: 'deliveries',
      args: [deliveryRef(delivery)] as [DeliveryRef],
      staticSummary: `${event_type} of ${source}${database === undefined ? '' : ` in ${database}`}`,
      typedSearchAttributes: attributes({ org, source, database }),
    };
  }

  return {
    async startItem(item: LaunchableItem): Promise<void> {
      const ref: ItemRef = { item: item._id, version: item.version };
      await start('indexItem', {
        workflowId: workflowIds.item(item.org, item.tenant, item.id, item.version),
        taskQueue: 'content',
        args: [ref],
        staticSummary: `Index ${item.id} into ${item.database}`,
        typedSearchAttributes: attributes({ org: item.org, database: item.database, source: item.id }),
      });
    },

    /** Another change of the same version may need another run. */
    async startIndexRows(item: LaunchableItem): Promise<void> {
      const ref: ItemRef = { item: item._id, version: item.version };
      await start('refreshIndexRows', {
        workflowId: workflowIds.indexRows(item.org, item.tenant, item.id, item.version),
        workflowIdReusePolicy: 'ALLOW_DUPLICATE',
        taskQueue: 'content',
        args: [ref],
        staticSummary: `Write the index rows of ${item.id} again`,
        typedSearchAttributes: attributes({ org: item.org, database: item.database, source: item.id }),
      });
    },

    startDelivery: (delivery: LaunchableDelivery): Promise<void> => start('deliverWebhook', deliveryOptions(delivery)),

    /** Wakes the delivery's workflow, or starts a new run of it when the last one has ended. */
    async retryDelivery(delivery: LaunchableDelivery): Promise<void> {
      const signal = { ...deliveryOptions(delivery), signal: 'retryNow', signalArgs: [] };
      await call(() => client.workflow.signalWithStart('deliverWebhook', signal));
    },

    async startIngest(ref: IngestRef, items: number, database: string): Promise<void> {
      await start('startIngestedItems', {
        workflowId: workflowIds.ingest(ref.org, ref.batch),
        taskQueue: 'content',
        args: [ref],
        staticSummary: `Start ${items} ${items === 1 ? 'item' : 'items'} for ${database}`,
        typedSearchAttributes: attributes({ org: ref.org, database }),
      });
    },

    async startProvisioning(ref: DatabaseRef, database: string): Promise<void> {
      await start('provisionDatabase', {
        workflowId: workflowIds.database(ref.org, ref.tenant),
        taskQueue: 'content',
        args: [ref],
        staticSummary: `Provision ${database}`,
        typedSearchAttributes: attributes({ org: ref.org, database }),
      });
    },

    async startDatabaseDeletion(ref: DatabaseRef, database: string): Promise<void> {
      await start('deleteDatabase', {
        workflowId: workflowIds.databaseRemoval(ref.org, ref.tenant),
        taskQueue: 'content',
        args: [ref],
        staticSummary: `Delete ${database}`,
        typedSearchAttributes: attributes({ org: ref.org, database }),
      });
    },

    /** Clears away what deleted items have left. */
    async startRemoval(ref: RemovalRef): Promise<void> {
      await start('clearRemovedItems', {
        workflowId: workflowIds.removal(ref.org, ref.removal),
        taskQueue: 'content',
        args: [ref],
        staticSummary: 'Clear away deleted items',
        typedSearchAttributes: attributes({ org: ref.org }),
      });
    },

    async startJob(job: LaunchableJob): Promise<void> {
      const model = `${job.feature}/${job.subfeature}/${job.provider}`;
      await start('runAiJob', {
        workflowId: workflowIds.job(job._id),
        taskQueue: 'ai',
        args: [{ job: job._id, org: job.org, time_limit_ms: job.time_limit_ms } satisfies JobRef],
        staticSummary: model,
        typedSearchAttributes: attributes({ org: job.org, source: job._id, model }),
      });
    },

    ...crewLaunches(client, start),

    /** Clears away what a deleted connector has left. */
    async startConnectorRemoval({ _id, org, database }: { _id: string; org: string; database: string }): Promise<void> {
      await start('removeConnector', {
        workflowId: workflowIds.connectorRemoval(org, _id),
        taskQueue: 'connectors',
        args: [{ connector: _id, org } satisfies SyncRef],
        staticSummary: `Remove a connector of ${database}`,
        typedSearchAttributes: attributes({ org, database, source: _id }),
      });
    },

    connectorSchedules: createConnectorSchedules(client, ({ org, database, _id }) =>
      attributes({ org, database, source: _id }),
    ),

    /** Asks a job's workflow to end; one that has ended, or never started, is left alone. */
    async cancelJob(jobId: string): Promise<void> {
      await call(() => client.workflow.getHandle(workflowIds.job(jobId)).cancel()).catch((error) => {
        if (!(error instanceof WorkflowNotFoundError)) throw error;
      });
    },

    /** The schedule that finds work whose workflow is missing. @param everySeconds how often */
    async ensureSweepSchedule(everySeconds: number): Promise<void> {
      const spec = { intervals: [{ every: everySeconds * 1000 }] };
      const scheduleId = 'sweep';
      try {
        await client.schedule.create({
          scheduleId,
          spec,
          policies: { overlap: ScheduleOverlapPolicy.SKIP, catchupWindow: '1 minute' },
          action: { type: 'startWorkflow', workflowType: 'sweep', workflowId: 'sweep', taskQueue: 'content', args: [] },
        });
      } catch (error) {
        if (!(error instanceof ScheduleAlreadyRunning)) throw error;
        await client.schedule.getHandle(scheduleId).update((previous) => ({ ...previous, spec }));
      }
    },

    /** Whether Temporal answers at all. */
    async reachable(): Promise<boolean> {
      try {
        await client.connection.withDeadline(Date.now() + 2_000, () =>
          client.workflowService.describeNamespace({ namespace: client.options.namespace }),
        );
        return true;
      } catch {
        return false;
      }
    },
  };
}

function deliveryRef({ _id, org, receiver }: LaunchableDelivery): DeliveryRef {
  return { delivery: _id, org, ...(receiver ? { receiver } : {}) };
}

function attributes(values: {
  org: string;
  database?: string | undefined;
  source?: string;
  model?: string;
}): SearchAttributePair[] {
  return [
    { key: ORGANISATION, value: values.org },
    ...(values.database === undefined ? [] : [{ key: DATABASE, value: values.database }]),
    ...(values.source === undefined ? [] : [{ key: SOURCE, value: values.source }]),
    ...(values.model === undefined ? [] : [{ key: MODEL, value: values.model }]),
  ];
}
