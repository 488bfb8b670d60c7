import {
  WorkflowNotFoundError,
  type WorkflowOptions,
  WorkflowUpdateFailedError,
  WorkflowUpdateRPCTimeoutOrCancelledError,
} from '@temporalio/client';
import { type CrewRef, RESUME, type ResumeRef, type ResumeStatus } from '../../domain/crews/workflow-contract.js';
import { ServiceError } from '../../domain/errors.js';
import type { CrewExecutionRecord } from '../../storage/crews/execution-record.js';
import { workflowIds } from '../workflow-ids.js';
import { ownedBy, type WorkflowStarter } from '../workflow-starter.js';

/** What starting its workflow needs of an execution. */
type StartedExecution = Pick<CrewExecutionRecord, '_id' | 'org' | 'crew' | 'definition' | 'tasks' | 'waiting_since'>;

/** How long applying feedback may take, including the completion of the last task. */
const RESUME_MS = 30_000;

export type CrewStarters = ReturnType<typeof createCrewStarters>;

/** Starts and resumes the executions of crews. */
export function createCrewStarters({ client, call, start, now }: WorkflowStarter) {
  /** Starts the workflow at the first task that is not completed, also when an earlier workflow was lost. */
  async function startCrew(
    execution: StartedExecution,
    options: Pick<WorkflowOptions, 'workflowIdReusePolicy'> = {},
  ): Promise<void> {
    await start('runCrew', {
      workflowId: workflowIds.crew(execution._id),
      taskQueue: 'crews',
      args: [crewRef(execution, now())],
      staticSummary: `Crew ${execution.crew}`,
      ...ownedBy({ org: execution.org, source: execution._id, crew: execution.crew }),
      ...options,
    });
  }

  function sendFeedback(ref: ResumeRef): Promise<ResumeStatus> {
    const handle = client.workflow.getHandle(workflowIds.crew(ref.execution));
    return client.connection.withDeadline(Date.now() + RESUME_MS, () =>
      handle.executeUpdate<ResumeStatus, [ResumeRef]>(RESUME, { args: [ref], updateId: ref.feedback }),
    );
  }

  return {
    startCrew,

    /** Cancels the execution, also when its workflow was lost; does nothing when it has ended. */
    async cancelCrew(execution: StartedExecution): Promise<void> {
      await startCrew(execution);
      try {
        await call(() => client.workflow.getHandle(workflowIds.crew(execution._id)).cancel());
      } catch (error) {
        if (!(error instanceof WorkflowNotFoundError)) throw error;
      }
    },

    /**
     * Sends a person's feedback to the execution and waits until it is applied. A workflow that was terminated, or that
     * Temporal has lost, starts again from the record.
     * @param readWaiting returns the execution, or null when it does not wait for this feedback any more
     * @throws ServiceError INVALID_PARAMETERS when the feedback is rejected, so that it is never applied;
     * SERVICE_UNAVAILABLE when the outcome is not known in time
     */
    async resumeCrew(ref: ResumeRef, readWaiting: () => Promise<StartedExecution | null>): Promise<ResumeStatus> {
      try {
        return await sendFeedback(ref);
      } catch (error) {
        if (!(error instanceof WorkflowNotFoundError)) throw resumeError(error);
      }
      const waiting = await readWaiting();
      if (!waiting) throw notPending();
      // The end of a workflow is stored before the workflow ends: one that has completed belongs to lost records.
      await startCrew(waiting, { workflowIdReusePolicy: 'ALLOW_DUPLICATE' });
      try {
        return await sendFeedback(ref);
      } catch (error) {
        throw error instanceof WorkflowNotFoundError ? notApplied() : resumeError(error);
      }
    },
  };
}

function resumeError(error: unknown): unknown {
  if (error instanceof WorkflowUpdateRPCTimeoutOrCancelledError) return notApplied();
  return error instanceof WorkflowUpdateFailedError ? notPending() : error;
}

function notApplied(): ServiceError {
  const message = 'The feedback was not applied in time. Check the status of the execution.';
  return new ServiceError('SERVICE_UNAVAILABLE', message, { retryAfterSeconds: 5 });
}

function notPending(): ServiceError {
  return new ServiceError('INVALID_PARAMETERS', 'The execution is not waiting for human input on this task.');
}

function crewRef({ _id, org, definition, tasks, waiting_since }: StartedExecution, now: Date): CrewRef {
  const asides = definition.tasks.flatMap(({ name, async_execution }) => (async_execution ? [name] : []));
  const nextIndex = tasks.findIndex(({ status }) => status !== 'completed');
  const next = tasks.find(({ task_id, status }) => status !== 'completed' && !asides.includes(task_id));
  // A rejected attempt has ended; any other attempt that has started continues.
  const attempt = next ? next.attempts + (next.status === 'retrying' ? 1 : 0) : 1;
  const ended = nextIndex < 0 ? [] : tasks.slice(nextIndex).filter(({ status }) => status === 'completed');
  const { review } = definition;
  const waited = waiting_since ? Math.max(now.getTime() - waiting_since.getTime(), 0) : 0;
  return {
    execution: _id,
    org,
    tasks: definition.tasks.map(({ name: task, agent, human_input, async_execution, context }) => {
      const needs = context.filter((earlier) => asides.includes(earlier));
      return {
        task,
        human_input,
        max_steps: definition.agents.find(({ name }) => name === agent)!.max_iter,
        ...(async_execution ? { async: true } : {}),
        ...(needs.length > 0 ? { needs } : {}),
      };
    }),
    done: nextIndex < 0 ? tasks.length : nextIndex,
    attempt: Math.max(attempt, 1),
    ...(ended.length > 0 ? { ended: ended.map(({ task_id }) => task_id) } : {}),
    ...(next?.status === 'pending_human_input' ? { waiting: { task: next.task_id, waited } } : {}),
    ...(review ? { review } : {}),
  };
}
