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
import type { CrewReview } from '../../domain/crews/crews.js';
import {
  type AttemptRef,
  CREW_CANCELLED,
  type CrewOutcome,
  type CrewRef,
  type CrewTaskPlan,
  NOT_PENDING,
  RESUME,
  type ResumeRef,
  type ResumeStatus,
} from '../../domain/crews/workflow-contract.js';
import { SEARCH_ATTRIBUTES } from '../../domain/search-attributes.js';
import { clientFailureOf, showOutcome } from '../failures.js';

/** A person's decision on a task that waits: its output is approved, or the task is tried again. */
export const resume = defineUpdate<ResumeStatus, [ResumeRef]>(RESUME);

// A killed worker is noticed by its missing heartbeat, because a model may take minutes. The activities decide which
// errors are retryable. `maximumAttempts` bounds the attempts that they cannot count: those of a step that kills its worker each time.
const modelActivities = proxyActivities<CrewActivities>({
  startToCloseTimeout: '6 minutes',
  heartbeatTimeout: '10 seconds',
  retry: { initialInterval: '2 seconds', backoffCoefficient: 2, maximumInterval: '1 minute', maximumAttempts: 20 },
});
const toolActivities = proxyActivities<CrewActivities>({
  startToCloseTimeout: '3 minutes',
  heartbeatTimeout: '10 seconds',
  retry: { initialInterval: '1 second', backoffCoefficient: 2, maximumInterval: '30 seconds', maximumAttempts: 20 },
});
// Attempts are unlimited: the state must be stored, however long MongoDB is unreachable.
const stateActivities = proxyActivities<CrewActivities>({
  startToCloseTimeout: '1 minute',
  retry: { initialInterval: '1 second', backoffCoefficient: 2, maximumInterval: '1 minute' },
});

/** Attempts per run. A longer execution continues in a new run, which bounds the history. */
const MAX_ATTEMPTS_PER_RUN = 20;

/** Attempts at a task after which an output that nobody decides on ends the execution. */
const MAX_UNDECIDED_ATTEMPTS = 3;

const { waitingFor, waitingSince } = SEARCH_ATTRIBUTES;

/** One execution: running -> (pending_human_input -> running | retrying)* -> completed | error. */
export async function runCrew(crew: CrewRef): Promise<CrewOutcome> {
  let { done, attempt } = crew;
  // Set before the handler is, because the feedback may arrive with the start.
  let waiting: AttemptRef | undefined = crew.waiting && refOf(crew.waiting);
  let decision: ResumeRef | undefined;
  let finished = false;
  /** Async tasks that run beside the next one. */
  const asyncTasks = new Map<string, Promise<void>>();
  let asyncTaskError: unknown;
  const scope = new CancellationScope();

  setHandler(
    resume,
    async (feedback) => {
      // Before the first await, so that the validator rejects a second decision.
      waiting = undefined;
      const summary = `${attemptName(feedback)}: ${feedback.is_approve ? 'approved' : 'rejected'}`;
      await stateActivities.applyResume.executeWithOptions({ summary }, [feedback]);
      decision = feedback;
      if (!feedback.is_approve) return 'retrying';
      if (done + 1 < crew.tasks.length || asyncTasks.size > 0) return 'resumed';
      await condition(() => finished);
      return 'completed';
    },
    {
      description:
        'A decision on the task that waits. The API stores the feedback and sends it; do not send it by hand.',
      validator: ({ task, attempt }) => {
        if (waiting?.task === task && waiting?.attempt === attempt) return;
        throw ApplicationFailure.nonRetryable('The feedback was rejected.', NOT_PENDING);
      },
    },
  );

  const outcome = await scope.run(runTasks).catch((error) => outcomeOf(asyncTaskError ?? error));
  if (asyncTasks.size > 0) await stopAsyncTasks();
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
        await join([...asyncTasks.keys()]);
        await condition(allHandlersFinished);
        await continueAsNew<typeof runCrew>({ ...crew, done, attempt, waiting: undefined });
      }
      const plan = crew.tasks[done]!;
      if (crew.ended?.includes(plan.task)) done++;
      else if (plan.async) {
        startAsyncTask(plan);
        done++;
      } else {
        await join(plan.needs);
        const approved = await attemptTask(plan);
        if (approved) done++;
        attempt = approved ? 1 : attempt + 1;
      }
    }
    await join([...asyncTasks.keys()]);
    return { status: 'completed' };
  }

  /** Runs an async task beside the tasks that follow. Its failure ends the execution at once. */
  function startAsyncTask(plan: CrewTaskPlan): void {
    const run = async () => {
      await join(plan.needs);
      await runTask(plan, { execution: crew.execution, org: crew.org, task: plan.task, attempt: 1 });
      asyncTasks.delete(plan.task);
    };
    const running = run();
    asyncTasks.set(plan.task, running);
    running.catch((error) => {
      asyncTaskError ??= error;
      scope.cancel();
    });
  }

  /** Waits until async tasks have completed. */
  async function join(tasks: readonly string[] = []): Promise<void> {
    for (const task of tasks) await asyncTasks.get(task);
  }

  async function stopAsyncTasks(): Promise<void> {
    scope.cancel();
    await Promise.allSettled(asyncTasks.values());
  }

  /** Runs one attempt. @returns how long the output has waited for a person, in milliseconds; null when it does not wait */
  async function runTask(plan: CrewTaskPlan, ref: AttemptRef): Promise<number | null> {
    const summary = attemptName(ref);
    await stateActivities.startTask.executeWithOptions({ summary }, [ref]);
    const step = await runSteps(plan, ref);
    // Set before the record is: a client that reads that the task waits may send feedback at once.
    if (plan.human_input) waiting = ref;
    return stateActivities.endTask.executeWithOptions({ summary }, [{ ...ref, step }, plan.human_input]);
  }

  /** @returns whether the output is approved; without `human_input` it always is */
  async function attemptTask(plan: CrewTaskPlan): Promise<boolean> {
    const ref = refOf(plan);
    const waited = waitedAtStart(ref) ?? (await runNow(plan, ref));
    if (!plan.human_input) return true;
    showWaiting(ref);
    if (crew.review && waited !== null && !(await decidedInTime(ref, crew.review, waited))) {
      clearWaiting();
      return await decideAtDeadline(ref, crew.review);
    }
    await condition(() => decision !== undefined);
    clearWaiting();
    const { is_approve } = decision!;
    decision = undefined;
    return is_approve;
  }

  function runNow(plan: CrewTaskPlan, ref: AttemptRef): Promise<number | null> {
    showRunning(ref);
    return runTask(plan, ref);
  }

  function refOf({ task }: { task: string }): AttemptRef {
    return { execution: crew.execution, org: crew.org, task, attempt };
  }

  /** @returns how long the output of this attempt had waited when the workflow started; undefined when it had not */
  function waitedAtStart({ task, attempt }: AttemptRef): number | undefined {
    return task === crew.waiting?.task && attempt === crew.attempt ? crew.waiting.waited : undefined;
  }

  /** Waits for a person until the deadline, and reminds the client. @param waited milliseconds */
  async function decidedInTime(ref: AttemptRef, { reminder_ms, deadline_ms }: CrewReview, waited: number) {
    const since = Date.now() - waited;
    const decided = () => waiting === undefined;
    const until = (ms: number) => condition(decided, Math.max(since + ms - Date.now(), 1));
    if (reminder_ms !== null && !(await until(reminder_ms))) {
      await stateActivities.remind.executeWithOptions({ summary: `${attemptName(ref)}: reminder` }, [ref]);
    }
    if (deadline_ms === null || (await until(deadline_ms)) || decided()) return true;
    // Before the next await, so that the validator rejects a late decision.
    waiting = undefined;
    return false;
  }

  /** @returns whether the output is approved. Outputs that nobody reviews are retried a few times only. */
  async function decideAtDeadline(ref: AttemptRef, { on_deadline }: CrewReview): Promise<boolean> {
    const fails = on_deadline === 'fail' || (on_deadline === 'reject' && ref.attempt >= MAX_UNDECIDED_ATTEMPTS);
    if (fails) throw new DeadlineExceeded(`Nobody decided on "${ref.task}" before the deadline.`);
    const approved = on_deadline === 'approve';
    const summary = `${attemptName(ref)}: ${approved ? 'approved' : 'rejected'} at the deadline`;
    await stateActivities.decideAtDeadline.executeWithOptions({ summary }, [ref, approved]);
    return approved;
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

/** Nobody decided on an output in time. The message is for the client. */
class DeadlineExceeded extends Error {}

/** The error as the client reads it. */
function outcomeOf(error: unknown): CrewOutcome {
  // Thrown by `continueAsNew`: this run has ended, the execution has not.
  if (error instanceof ContinueAsNew) throw error;
  if (error instanceof DeadlineExceeded) {
    return { status: 'error', error_code: 'deadline_exceeded', error_message: error.message };
  }
  if (isCancellation(error)) return { status: 'error', error_code: 'cancelled', error_message: CREW_CANCELLED };
  const error_message = clientFailureOf(error)?.message ?? 'The execution failed because of an internal error.';
  return { status: 'error', error_message };
}
