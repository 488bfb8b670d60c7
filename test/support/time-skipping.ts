import type { WorkflowHandle } from '@temporalio/client';
import proto from '@temporalio/proto';
import { TestWorkflowEnvironment } from '@temporalio/testing';
import { pino } from 'pino';
import { defaultCacheDir, obtainBinary } from '../../dev-stack/index.js';
import { SEARCH_ATTRIBUTE_TYPES } from '../../domain/search-attributes.js';
import { installTemporalLogger } from '../../worker/logging.js';
import { eventually } from './eventually.js';

/** Temporal's time-skipping server, which passes months in moments, with the product's search attributes. */
export async function startTimeSkipping(): Promise<TestWorkflowEnvironment> {
  installTemporalLogger(pino({ level: 'silent' }));
  const { env } = process;
  const path = await obtainBinary('temporal-test-server', {
    cacheDir: defaultCacheDir(env),
    env,
    log: () => undefined,
  });
  const server = { executable: { type: 'existing-path', path } } as const;
  const skipping = await TestWorkflowEnvironment.createTimeSkipping({ server });
  // This server cannot list its search attributes, so the product's own registration does not work here.
  const types = { KEYWORD: 2, DATETIME: 6, KEYWORD_LIST: 7 };
  const searchAttributes = Object.entries(SEARCH_ATTRIBUTE_TYPES).map(([name, type]) => [name, types[type]]);
  await skipping.connection.operatorService.addSearchAttributes({
    namespace: 'default',
    searchAttributes: Object.fromEntries(searchAttributes),
  });
  return skipping;
}

const { EventType } = proto.temporal.api.enums.v1;

const IN_PROGRESS = new Set<unknown>([
  EventType.EVENT_TYPE_WORKFLOW_EXECUTION_STARTED,
  EventType.EVENT_TYPE_WORKFLOW_TASK_SCHEDULED,
  EventType.EVENT_TYPE_WORKFLOW_TASK_STARTED,
  EventType.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED,
  EventType.EVENT_TYPE_ACTIVITY_TASK_STARTED,
]);

/**
 * Resolves when a workflow waits for something from outside, with no task or activity in progress. Required before a
 * cancellation: the time-skipping server does not accept that a workflow cancels an activity that has just completed,
 * and gives that workflow no further task. The real server does.
 */
export async function untilIdle(workflow: WorkflowHandle): Promise<void> {
  await eventually(`${workflow.workflowId} is idle`, async () => {
    const { events } = await workflow.fetchHistory();
    return !IN_PROGRESS.has(events?.at(-1)?.eventType);
  });
}
