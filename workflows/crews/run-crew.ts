import {
  ApplicationFailure,
  allHandlersFinished,
  CancellationScope,
  ContinueAsNew,
  condition,
  continueAsNew,
  defineUpdate,
  isCancellation,
  proxyActivities,
  setCurrentDetails,
  setHandler,
  upsertSearchAttributes,
  workflowInfo,
} from '@temporalio/workflow';
import type { CrewActivities } from '../../activities/crews/run-crew.js';
import {
  type AttemptRef,
  CREW_CANCELLED,
  type CrewOutcome,
  type CrewRef,
  type CrewTaskPlan,
  RESUME,
  RESUME_REJECTED,
  type ResumeRef,
  type ResumeStatus,
} from '../../domain/crews/workflow-contract.js';
import { SEARCH_ATTRIBUTES } from '../../domain/search-attributes.js';
import { clientFailureOf, showOutcome } from '../failures.js';

/** A person's decision on a task that waits: its output is approved, or the task is tried again. */
export const resume = defineUpdate<ResumeStatus, [ResumeRef]>(RESUME);

// A killed worker is noticed by its missing heartbeat, because a model may take minutes. The activities decide which
// errors are retryable. `maximumAttempts` bounds what they cannot see: a step that kills its worker each time.
const modelActivities = proxyActivities<CrewActivities>({
  startToCloseTimeout: '6 minutes',
  heartbeatTimeout: '15 seconds',
  retry: { initialInterval: '2 seconds', backoffCoefficient: 2, maximumInterval: '1 minute', maximumAttempts: 20 },
});
const toolActivities = proxyActivities<CrewActivities>({
  startToCloseTimeout: '3 minutes',
  heartbeatTimeout: '15 seconds',
  retry: { initialInterval: '1 second', backoffCoefficient: 2, maximumInterval: '30 seconds', maximumAttempts: 20 },
});
// Attempts are unlimited: the state must be stored, however long MongoDB is unreachable.
const stateActivities = proxyActivities<CrewActivities>({
  startToCloseTimeout: '1 minute',
  retry: { initialInterval: '1 second', backoffCoefficient: 2, maximumInterval: '1 minute' },
});

/** Attempts per run. A longer execution continues in a new run, which bounds the history. */
const MAX_ATTEMPTS_PER_RUN = 20;

const { waitingFor, waitingSince } = SEARCH_ATTRIBUTES;

/** One execution: running -> (pending_human_input -> running | retrying)* -> completed | error. */
export async function runCrew(crew: CrewRef): Promise<CrewOutcome> {
  let { done, attempt } = crew;
  let waiting: AttemptRef | undefined;
  let decision: ResumeRef | undefined;
  let finished = false;

  setHandler(
    resume,
    async (feedback) => {
      // Before the first await, so that the validator rejects a second decision.
      waiting = undefined;
      const summary = `${attemptName(feedback)}: ${feedback.is_approve ? 'approved' : 'rejected'}`;
      await stateActivities.applyResume.executeWithOptions({ summary }, [feedback]);
      decision = feedback;
      if (!feedback.is_approve) return 'retrying';
      if (done + 1 < crew.tasks.length) return 'resumed';
      await condition(() => finished);
      return 'completed';
    },
    {
      description:
        'A decision on the task that waits. The API stores the feedback and sends it; do not send it by hand.',
      validator: ({ task, attempt }) => {
        if (!crew.tasks.some((plan) => plan.task === task)) throw rejected(RESUME_REJECTED.unknownTask);
        if (waiting?.task !== task || waiting?.attempt !== attempt) throw rejected(RESUME_REJECTED.notPending);
      },
    },
  );

  const outcome = await runTasks().catch(failure);
  if (waiting) clearWaiting();
  waiting = undefined;
  setCurrentDetails('');
  // A cancelled execution sends its callback too.
  await CancellationScope.nonCancellable(() =>
    stateActivities.finishExecution.executeWithOptions({ summary: `outcome: ${outcome.status}` }, [crew, outcome]),
  );
  if (outcome.status === 'error') showOutcome(outcome.status);
  finished = true;
  await CancellationScope.nonCancellable(() => condition(allHandlersFinished));
  return outcome;

  async function runTasks(): Promise<CrewOutcome> {
    for (let attempts = 0; done < crew.tasks.length; attempts++) {
      if (attempts === MAX_ATTEMPTS_PER_RUN || workflowInfo().continueAsNewSuggested) {
        await condition(allHandlersFinished);
        await continueAsNew<typeof runCrew>({ ...crew, done, attempt });
      }
      const approved = await attemptTask(crew.tasks[done]!);
      if (approved) done++;
      attempt = approved ? 1 : attempt + 1;
    }
    return { status: 'completed' };
  }

  /** @returns whether the output is approved; without `human_input` it always is */
  async function attemptTask(plan: CrewTaskPlan): Promise<boolean> {
    const ref: AttemptRef = { execution: crew.execution, task: plan.task, attempt };
    const summary = attemptName(ref);
    showRunning(ref);
    await stateActivities.startTask.executeWithOptions({ summary }, [ref]);
    const step = await runSteps(plan, ref);
    // Set before the record is: a client that reads that the task waits may send feedback at once.
    if (plan.human_input) waiting = ref;
    await stateActivities.endTask.executeWithOptions({ summary }, [{ ...ref, step }, plan.human_input]);
    if (!plan.human_input) return true;
    showWaiting(ref);
    await condition(() => decision !== undefined);
    clearWaiting();
    const { is_approve } = decision!;
    decision = undefined;
    return is_approve;
  }

  function showRunning(ref: AttemptRef): void {
    setCurrentDetails(`Running **${attemptName(ref)}**, task ${done + 1} of ${crew.tasks.length}.`);
  }

  function showWaiting({ task, attempt }: AttemptRef): void {
    const since = new Date(Date.now());
    upsertSearchAttributes([
      { key: waitingFor, value: task },
      { key: waitingSince, value: since },
    ]);
    setCurrentDetails(
      `Waiting for a person of **${crew.org}** to review **${task}** (attempt ${attempt}), since ${since.toISOString()}.`,
    );
  }
}

/** Calls the model, and the tools that it requests, until it gives an output. @returns the step with the output */
async function runSteps({ max_steps }: CrewTaskPlan, ref: AttemptRef): Promise<number> {
  for (let step = 1; ; step++) {
    const summary = `${attemptName(ref)}: step ${step}`;
    const last = step === max_steps;
    const { tool_calls } = await modelActivities.callModel.executeWithOptions({ summary }, [{ ...ref, step, last }]);
    if (tool_calls === 0) return step;
    await Promise.all(
      Array.from({ length: tool_calls }, (_, call) =>
        toolActivities.callTool.executeWithOptions({ summary: `${summary}, tool ${call + 1}` }, [
          { ...ref, step, call },
        ]),
      ),
    );
  }
}

function clearWaiting(): void {
  upsertSearchAttributes([
    { key: waitingFor, value: null },
    { key: waitingSince, value: null },
  ]);
  setCurrentDetails('');
}

/** The attempt as operators read it. */
function attemptName({ task, attempt }: AttemptRef): string {
  return attempt === 1 ? task : `${task}, attempt ${attempt}`;
}

function rejected(type: string): ApplicationFailure {
  return ApplicationFailure.nonRetryable('The feedback was rejected.', type);
}

/** The error as the client reads it. */
function failure(error: unknown): CrewOutcome {
  // Thrown by `continueAsNew`: this run has ended, the execution has not.
  if (error instanceof ContinueAsNew) throw error;
  if (isCancellation(error)) return { status: 'error', error_message: CREW_CANCELLED };
  const error_message = clientFailureOf(error)?.message ?? 'The execution failed because of an internal error.';
  return { status: 'error', error_message };
}
