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
import { clientFailureOf } from '../failures.js';
import { showOutcome } from '../outcome.js';

/** A person answers for a task that waits: its output is taken, or the task is tried again. */
export const resume = defineUpdate<ResumeStatus, [ResumeRef]>(RESUME);

// A worker that dies is noticed by its heartbeat; a model may think for minutes. Which errors are worth a retry the
// activities decide; what is bounded here is what they cannot see: a step that takes its worker down each time.
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
// The state is written however long the database is away.
const stateActivities = proxyActivities<CrewActivities>({
  startToCloseTimeout: '1 minute',
  retry: { initialInterval: '1 second', backoffCoefficient: 2, maximumInterval: '1 minute' },
});

/** Attempts of one run; a longer execution goes on in a new one, so that no history grows without bound. */
const ATTEMPTS_A_RUN = 20;

const { waitingFor, waitingSince } = SEARCH_ATTRIBUTES;

/** One execution: running -> (pending_human_input -> running | retrying)* -> completed | error. */
export async function runCrew(ref: CrewRef): Promise<CrewOutcome> {
  let { done, attempt } = ref;
  let waiting: AttemptRef | undefined;
  let answer: ResumeRef | undefined;
  let ended = false;

  setHandler(
    resume,
    async (given) => {
      // At once, so that the validator refuses whoever comes second.
      waiting = undefined;
      const summary = `${attemptName(given)}: ${given.is_approve ? 'approved' : 'rejected'}`;
      await stateActivities.applyResume.executeWithOptions({ summary }, [given]);
      answer = given;
      if (!given.is_approve) return 'retrying';
      if (done + 1 < ref.tasks.length) return 'resumed';
      await condition(() => ended);
      return 'completed';
    },
    {
      description:
        'An answer for the task that waits. The API sends it and keeps its text; it cannot be given by hand.',
      validator: ({ task, attempt }) => {
        if (!ref.tasks.some((one) => one.task === task)) throw refused(RESUME_REJECTED.unknownTask);
        if (waiting?.task !== task || waiting?.attempt !== attempt) throw refused(RESUME_REJECTED.notPending);
      },
    },
  );

  const outcome = await run().catch(failure);
  if (waiting) showWorking();
  waiting = undefined;
  setCurrentDetails('');
  // A cancelled execution has ended too, and whoever waits for its callback is told.
  await CancellationScope.nonCancellable(() =>
    stateActivities.finishExecution.executeWithOptions({ summary: `ends as ${outcome.status}` }, [ref, outcome]),
  );
  if (outcome.status === 'error') showOutcome(outcome.status);
  ended = true;
  await CancellationScope.nonCancellable(() => condition(allHandlersFinished));
  return outcome;

  async function run(): Promise<CrewOutcome> {
    for (let attempts = 0; done < ref.tasks.length; attempts++) {
      if (attempts === ATTEMPTS_A_RUN || workflowInfo().continueAsNewSuggested) {
        await condition(allHandlersFinished);
        await continueAsNew<typeof runCrew>({ ...ref, done, attempt });
      }
      const approved = await tryTask(ref.tasks[done]!);
      if (approved) done++;
      attempt = approved ? 1 : attempt + 1;
    }
    return { status: 'completed' };
  }

  /** @returns whether its output stands */
  async function tryTask(plan: CrewTaskPlan): Promise<boolean> {
    const at: AttemptRef = { execution: ref.execution, task: plan.task, attempt };
    showWork(at);
    await stateActivities.startTask.executeWithOptions({ summary: attemptName(at) }, [at]);
    const step = await work(plan, at);
    // Before the record says so: whoever reads there that the task waits may answer at once.
    if (plan.human_input) waiting = at;
    await stateActivities.endTask.executeWithOptions({ summary: attemptName(at) }, [{ ...at, step }, plan.human_input]);
    if (!plan.human_input) return true;
    showWaiting(at);
    await condition(() => answer !== undefined);
    showWorking();
    const { is_approve } = answer!;
    answer = undefined;
    return is_approve;
  }

  function showWork(at: AttemptRef): void {
    setCurrentDetails(`Works on **${attemptName(at)}**, task ${done + 1} of ${ref.tasks.length}.`);
  }

  function showWaiting({ task, attempt }: AttemptRef): void {
    const since = new Date(Date.now());
    upsertSearchAttributes([
      { key: waitingFor, value: task },
      { key: waitingSince, value: since },
    ]);
    setCurrentDetails(
      `Waits for a person of **${ref.org}** to answer for **${task}** (attempt ${attempt}), since ${since.toISOString()}.`,
    );
  }
}

/** The agent thinks and uses its tools until it has an answer. @returns the number of the step that gave it */
async function work({ max_steps }: CrewTaskPlan, at: AttemptRef): Promise<number> {
  for (let step = 1; ; step++) {
    const summary = `${attemptName(at)}: step ${step}`;
    const last = step === max_steps;
    const { tool_calls } = await modelActivities.callModel.executeWithOptions({ summary }, [{ ...at, step, last }]);
    if (tool_calls === 0) return step;
    await Promise.all(
      Array.from({ length: tool_calls }, (_, call) =>
        toolActivities.callTool.executeWithOptions({ summary: `${summary}, tool ${call + 1}` }, [
          { ...at, step, call },
        ]),
      ),
    );
  }
}

function showWorking(): void {
  upsertSearchAttributes([
    { key: waitingFor, value: null },
    { key: waitingSince, value: null },
  ]);
  setCurrentDetails('');
}

/** An attempt as operators read it. */
function attemptName({ task, attempt }: AttemptRef): string {
  return attempt === 1 ? task : `${task}, attempt ${attempt}`;
}

function refused(type: string): ApplicationFailure {
  return ApplicationFailure.nonRetryable('The answer is refused.', type);
}

/** What the client reads. */
function failure(error: unknown): CrewOutcome {
  // Not an error but the end of this run.
  if (error instanceof ContinueAsNew) throw error;
  if (isCancellation(error)) return { status: 'error', error_message: CREW_CANCELLED };
  const error_message = clientFailureOf(error)?.message ?? 'The execution failed for an internal reason.';
  return { status: 'error', error_message };
}
