import { createHash } from 'node:crypto';
import {
  type Client,
  WorkflowExecutionAlreadyStartedError,
  WorkflowNotFoundError,
  type WorkflowSignalWithStartOptions,
  type WorkflowStartOptions,
} from '@temporalio/client';
import type { Priority, SearchAttributePair } from '@temporalio/common';
import type { StarterMetrics } from '../domain/metrics.js';
import { SEARCH_ATTRIBUTES } from '../domain/search-attributes.js';
import type { TaskQueue } from '../domain/workflow-contract.js';
import type * as workflows from '../workflows/index.js';
import { WORKFLOW_DETAILS } from './workflow-details.js';

type Workflows = typeof workflows;

/** Options of a start; the compiler checks the arguments against the workflow's code. */
export type StartOptions<Name extends keyof Workflows> = WorkflowStartOptions<Workflows[Name]> & {
  taskQueue: TaskQueue;
  /** What the workflow is about, in Temporal's UI. */
  staticSummary: string;
};

export type WorkflowStarter = ReturnType<typeof createWorkflowStarter>;

export interface WorkflowStarterOptions {
  /** The time of the database, with which the times of records are compared. Default: that of this process. */
  now?: () => Date;
  /** For each call. Without a deadline, the client retries for as long as its own policy says. */
  deadlineMs?: number;
  /** Measure the calls. */
  metrics?: StarterMetrics;
}

/** Starts workflows. Starting is idempotent: the workflow id is the record's id, and a second start does nothing. */
export function createWorkflowStarter(
  client: Client,
  { now = () => new Date(), deadlineMs, metrics }: WorkflowStarterOptions = {},
) {
  const limited = <T>(request: () => Promise<T>): Promise<T> =>
    deadlineMs === undefined ? request() : client.withDeadline(Date.now() + deadlineMs, request);
  const call = <T>(request: () => Promise<T>): Promise<T> =>
    metrics === undefined ? limited(request) : measured(metrics, () => limited(request));

  return {
    client,
    call,
    now,

    /** A run that failed or was terminated by an operator can be started again; a completed run cannot. */
    async start<Name extends keyof Workflows>(workflow: Name, options: StartOptions<Name>): Promise<void> {
      try {
        const staticDetails = WORKFLOW_DETAILS[workflow];
        const policy = { workflowIdReusePolicy: 'ALLOW_DUPLICATE_FAILED_ONLY', staticDetails, ...options } as const;
        await call(() => client.workflow.start<Workflows[Name]>(workflow, policy));
      } catch (error) {
        if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
      }
    },

    /** Signals the workflow; starts a new run first when the last run has ended. */
    async signalWithStart<Name extends keyof Workflows>(
      workflow: Name,
      signal: string,
      options: StartOptions<Name>,
    ): Promise<void> {
      const request = {
        staticDetails: WORKFLOW_DETAILS[workflow],
        ...options,
        signal,
      } as WorkflowSignalWithStartOptions & StartOptions<Name>;
      await call(() => client.workflow.signalWithStart<Workflows[Name]>(workflow, request));
    },
  };
}

/** A workflow that runs already, or has ended, does not count as a failed call. */
async function measured<T>(metrics: StarterMetrics, request: () => Promise<T>): Promise<T> {
  const started = performance.now();
  const report = (result: 'ok' | 'failed') => metrics.temporalCalled(result, performance.now() - started);
  try {
    const value = await request();
    report('ok');
    return value;
  } catch (error) {
    const known = error instanceof WorkflowExecutionAlreadyStartedError || error instanceof WorkflowNotFoundError;
    report(known ? 'ok' : 'failed');
    throw error;
  }
}

/** Order in which a busy queue serves work, by Temporal's priority keys. */
export const PRIORITIES = { interactive: 2, usual: 3, upkeep: 4 } as const;

/**
 * The options that say whose work a workflow does: search attributes for operators, and the organisation as fairness
 * key, so that a queue serves organisations in turn, whatever the backlog of each.
 * @param values undefined values are not set
 */
export function ownedBy(
  values: {
    org: string;
    database?: string | undefined;
    collection?: string | undefined;
    source?: string | string[];
    model?: string;
    crew?: string;
  },
  priorityKey: number = PRIORITIES.usual,
): { typedSearchAttributes: SearchAttributePair[]; priority: Priority } {
  const { organisation, database, collection, source, model, crew } = SEARCH_ATTRIBUTES;
  const words = [
    [organisation, values.org],
    [database, values.database],
    [collection, values.collection],
    [model, values.model],
    [crew, values.crew],
  ] as const;
  const sources = values.source === undefined ? [] : [values.source].flat();
  return {
    typedSearchAttributes: [
      ...words.flatMap(([key, value]) => (value === undefined ? [] : [{ key, value }])),
      ...(sources.length === 0 ? [] : [{ key: source, value: sources }]),
    ],
    priority: { priorityKey, fairnessKey: fairnessKeyOf(values.org) },
  };
}

/** Temporal accepts fairness keys of at most 64 bytes. */
function fairnessKeyOf(org: string): string {
  return Buffer.byteLength(org) <= 64 ? org : createHash('sha256').update(org).digest('hex');
}

/**
 * Starts a workflow whose work is already on record. When Temporal cannot be reached the request does not fail: the
 * reconciler finds the record and starts the workflow later.
 * @param what for the log, such as `delivery`
 * @param ids for the log; names the record
 */
export async function startOrDefer(
  log: { warn(details: object, message: string): void },
  what: string,
  ids: object,
  start: () => Promise<void>,
): Promise<void> {
  try {
    await start();
  } catch (error) {
    log.warn({ err: error, ...ids }, `${what} not started; the reconciler will start it`);
  }
}
