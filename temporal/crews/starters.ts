import {
  WorkflowNotFoundError,
  WorkflowUpdateFailedError,
  WorkflowUpdateRPCTimeoutOrCancelledError,
} from '@temporalio/client';
import { ApplicationFailure } from '@temporalio/common';
import type { CrewTaskStatus } from '../../domain/crews/crews.js';
import {
  type CrewRef,
  RESUME,
  RESUME_REJECTED,
  type ResumeRef,
  type ResumeStatus,
} from '../../domain/crews/workflow-contract.js';
import { ServiceError } from '../../domain/errors.js';
import { workflowIds } from '../workflow-ids.js';
import { searchAttributes, type WorkflowStarter } from '../workflow-starter.js';

/** What a start needs to know of an execution; a `CrewExecutionRecord` has all of it. */
export interface StartExecutionInput {
  _id: string;
  org: string;
  crew: string;
  definition: {
    agents: { name: string; max_iter: number }[];
    tasks: { name: string; agent: string; human_input: boolean }[];
  };
  tasks: { task_id: string; status: CrewTaskStatus; attempts: number }[];
}

/** How long a person's answer may take to be taken, a last task's end included. */
const RESUME_MS = 30_000;

export type CrewStarters = ReturnType<typeof createCrewStarters>;

/** Starts and resumes the executions of crews. */
export function createCrewStarters({ client, start }: WorkflowStarter) {
  return {
    /** One whose workflow was lost goes on where its record stands. */
    async startCrew(execution: StartExecutionInput): Promise<void> {
      await start('runCrew', {
        workflowId: workflowIds.crew(execution._id),
        taskQueue: 'crews',
        args: [crewRef(execution)],
        staticSummary: `Crew ${execution.crew}`,
        typedSearchAttributes: searchAttributes({ org: execution.org, source: execution._id, crew: execution.crew }),
      });
    },

    /**
     * Hands a person's answer to the execution and waits until it has taken effect.
     * @throws ServiceError INVALID_PARAMETERS or NOT_FOUND when it is refused: then it never takes effect;
     * SERVICE_UNAVAILABLE when that is not known in time
     */
    async resumeCrew(ref: ResumeRef): Promise<ResumeStatus> {
      const handle = client.workflow.getHandle(workflowIds.crew(ref.execution));
      try {
        return await client.connection.withDeadline(Date.now() + RESUME_MS, () =>
          handle.executeUpdate<ResumeStatus, [ResumeRef]>(RESUME, { args: [ref], updateId: ref.feedback }),
        );
      } catch (error) {
        throw refusal(error);
      }
    },
  };
}

function refusal(error: unknown): unknown {
  // It has ended, or is about to start.
  if (error instanceof WorkflowNotFoundError) return notPending();
  if (error instanceof WorkflowUpdateRPCTimeoutOrCancelledError) {
    return new ServiceError('SERVICE_UNAVAILABLE', 'The answer was not taken in time; look at the status.', 5);
  }
  if (!(error instanceof WorkflowUpdateFailedError)) return error;
  const type = error.cause instanceof ApplicationFailure ? error.cause.type : undefined;
  if (type === RESUME_REJECTED.unknownTask) {
    return new ServiceError('NOT_FOUND', 'This execution has no such task.');
  }
  return notPending();
}

function notPending(): ServiceError {
  return new ServiceError('INVALID_PARAMETERS', 'The execution is not waiting for human input on this task.');
}

function crewRef({ _id, org, definition, tasks }: StartExecutionInput): CrewRef {
  const open = tasks.findIndex(({ status }) => status !== 'completed');
  const next = tasks[open];
  // A rejected attempt is over; any other that was begun goes on.
  const attempt = next ? next.attempts + (next.status === 'retrying' ? 1 : 0) : 1;
  return {
    execution: _id,
    org,
    tasks: definition.tasks.map(({ name, agent, human_input }) => ({
      task: name,
      human_input,
      max_steps: definition.agents.find((one) => one.name === agent)!.max_iter,
    })),
    done: next ? open : tasks.length,
    attempt: Math.max(attempt, 1),
  };
}
