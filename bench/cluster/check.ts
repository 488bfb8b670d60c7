import type { Client } from '@temporalio/client';
import { UNFINISHED_JOB_STATUSES } from '../../domain/ai-jobs/states.js';
import { UNFINISHED_INDEXING_STATUSES } from '../../domain/content/states.js';
import { UNFINISHED_EXECUTION_STATUSES } from '../../domain/crews/states.js';
import { UNFINISHED_DELIVERY_STATES } from '../../domain/webhooks/states.js';
import type { Collections } from '../../storage/collections.js';
import type { FaultLog } from './faults.js';
import type { ClusterReceiver } from './receiver.js';

/** Records that are not at their end, by collection. */
const UNFINISHED = {
  items: { indexing_status: { $in: UNFINISHED_INDEXING_STATUSES } },
  deliveries: { status: { $in: UNFINISHED_DELIVERY_STATES } },
  ai_jobs: { status: { $in: UNFINISHED_JOB_STATUSES } },
  crew_executions: { status: { $in: UNFINISHED_EXECUTION_STATUSES } },
} as const;

/** Workflows that schedules start all the time. */
const UPKEEP = ['reconcile', 'dropAbandonedFiles', 'compactSearchIndex'];

/** @returns what has not ended, as lines; empty when nothing is stuck */
export async function stuckWork(collections: Collections, temporal: Client): Promise<string[]> {
  const lines: string[] = [];
  for (const [name, filter] of Object.entries(UNFINISHED)) {
    const count = await collections.db.collection(name).countDocuments(filter);
    if (count > 0) lines.push(`${count} unfinished records in ${name}`);
  }
  const running: string[] = [];
  for await (const { workflowId, type } of temporal.workflow.list({ query: 'ExecutionStatus="Running"' }))
    if (!UPKEEP.includes(type) && !type.startsWith('temporal-sys')) running.push(workflowId);
  if (running.length > 0) lines.push(`${running.length} running workflows: ${running.slice(0, 5).join(', ')}`);
  return lines;
}

/** @returns the workflows that ended in a way none may end in */
export async function failedWorkflows(temporal: Client): Promise<string[]> {
  const query = 'ExecutionStatus="Failed" OR ExecutionStatus="TimedOut" OR ExecutionStatus="Terminated"';
  const lines: string[] = [];
  for await (const { workflowId, type, status } of temporal.workflow.list({ query }))
    if (!UPKEEP.includes(type)) lines.push(`workflow ${workflowId} (${type}): ${status.name}`);
  return lines;
}

/** Records that clients did not ask for: an answer was lost, the request was repeated, and the work was done twice. */
export async function doubledWork(
  collections: Collections,
  expected: Partial<Record<'ai_jobs' | 'crew_executions' | 'authentications', number>>,
): Promise<string[]> {
  const lines: string[] = [];
  for (const [name, count] of Object.entries(expected)) {
    const stored = await collections.db.collection(name).countDocuments({ org: 'bench' });
    if (stored !== count) lines.push(`${stored} records in ${name}, and ${count} requests were accepted`);
  }
  return lines;
}

export interface Duplicates {
  /** Callbacks that arrived again although the receiver had accepted them, by what explains them. */
  explained: Map<string, number>;
  unexplained: string[];
}

/** How long before the first receipt a fault may have begun to explain the second one. */
const BEFORE_MS = 10_000;

/** A callback is sent again when a fault comes between sending it and recording that it was sent. Nothing else explains it. */
export function findDuplicates(receivers: readonly ClusterReceiver[], faults: FaultLog): Duplicates {
  const explained = new Map<string, number>();
  const unexplained: string[] = [];
  for (const { received } of receivers) {
    const acceptedAt = new Map<string, number>();
    for (const { webhookId, at, body, behaviour } of received) {
      const first = acceptedAt.get(webhookId);
      if (first === undefined) {
        if (behaviour === 'accepts') acceptedAt.set(webhookId, at);
        continue;
      }
      const fault = faults.resendCauseOf(first - BEFORE_MS, at);
      if (fault) explained.set(fault, (explained.get(fault) ?? 0) + 1);
      else
        unexplained.push(`${webhookId} (${body.id ?? body.job_id ?? body.execution_id}) again after ${at - first} ms`);
    }
  }
  return { explained, unexplained };
}

const FAILED_TASK = 'workflowTaskFailedEventAttributes';

/** Reads every history. @returns the workflows with a failed workflow task, and its reason */
export async function failedWorkflowTasks(temporal: Client): Promise<string[]> {
  const lines: string[] = [];
  for await (const { workflowId, runId } of temporal.workflow.list()) {
    const { events = [] } = await temporal.workflow.getHandle(workflowId, runId).fetchHistory();
    for (const event of events ?? []) {
      const attributes = event[FAILED_TASK];
      if (attributes) lines.push(`${workflowId}: ${attributes.failure?.message ?? attributes.cause}`);
    }
  }
  return lines;
}
