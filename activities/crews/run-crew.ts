import { ApplicationFailure } from '@temporalio/activity';
import { type AgentStep, describeStep, type LanguageModels } from '../../domain/crews/language-model.js';
import { reviewUrl } from '../../domain/crews/review-links.js';
import {
  type AttemptRef,
  type CrewOutcome,
  type CrewRef,
  NOT_PENDING,
  type ResumeRef,
  type StepRef,
  type ToolCallRef,
} from '../../domain/crews/workflow-contract.js';
import { ProviderError } from '../../domain/errors.js';
import type { WorkMetrics } from '../../domain/metrics.js';
import { type CrewExecutionRecord, deadlineOf } from '../../storage/crews/execution-record.js';
import type { CrewExecutions } from '../../storage/crews/executions.js';
import type { CrewFeedback } from '../../storage/crews/feedback.js';
import { type CrewSteps, stepId } from '../../storage/crews/steps.js';
import type { Quotas } from '../../storage/quotas.js';
import type { Deliveries } from '../../storage/webhooks/deliveries.js';
import { attemptNumber } from '../failures.js';
import { withHeartbeat } from '../heartbeat.js';
import { type CompletionDependencies, createCompletion, inTurn } from '../webhooks/completion.js';
import { type CrewEventData, crewDelivery } from './crew-delivery.js';
import { withFailures } from './failures.js';
import { type CrewToolDependencies, createCrewTools } from './tools.js';
import { accessOf, assignmentOf, gatherTurn, readJsonOutput } from './turn.js';

export interface CrewDependencies extends CompletionDependencies, CrewToolDependencies {
  crewExecutions: CrewExecutions;
  crewFeedback: Pick<CrewFeedback, 'findApplied' | 'listForAttempt'>;
  crewSteps: CrewSteps;
  deliveries: CompletionDependencies['deliveries'] & Pick<Deliveries, 'getByDedupeKey'>;
  models: LanguageModels;
  quotas: Pick<Quotas, 'tokenMeter'>;
  metrics: Pick<WorkMetrics, 'crewFinished'>;
  /** The address of the API as people reach it; null: unknown. */
  publicUrl: string | null;
}

export type CrewActivities = ReturnType<typeof createCrewActivities>;

/** Keeps the execution, one MongoDB document with the outputs of up to fifty tasks, within its maximum size. */
const MAX_OUTPUT_BYTES = 200 * 1024;
/** Attempts after which the model gets the error of a tool as its result. */
const MAX_TOOL_ATTEMPTS = 3;

/** The steps of a crew's execution. Each can be repeated: a stored step is used, and not made again. */
export function createCrewActivities(deps: CrewDependencies) {
  const { crewExecutions, crewFeedback, crewSteps, deliveries, models } = deps;
  const complete = createCompletion(deps, inTurn);
  const tools = createCrewTools(deps);

  return {
    /** Starts an attempt at a task: pending -> running, or retrying after a rejection. */
    startTask: withFailures(async (ref: AttemptRef): Promise<void> => {
      const { agent, task } = assignmentOf(await requireExecution(ref), ref.task);
      await crewExecutions.startTask(ref, models.get(agent.llm).label, task.async_execution ?? false);
    }),

    /** Calls the model once, for the output or for tool calls. @returns the number of tool calls */
    callModel: withFailures(async (ref: StepRef): Promise<{ tool_calls: number }> => {
      const step = (await crewSteps.getById(ref)) ?? (await withHeartbeat((signal) => runModel(ref, signal)));
      return { tool_calls: step.kind === 'model' ? step.tool_calls.length : 0 };
    }),

    /** Runs one tool call that the model requested. The model gets the tool's errors as its result. */
    callTool: withFailures(async (ref: ToolCallRef): Promise<void> => {
      if (!(await crewSteps.getById(ref))) await withHeartbeat((signal) => runTool(ref, signal));
    }),

    /**
     * running -> completed | pending_human_input, with the delivery that notifies the client.
     * @param ref the step with the output
     * @param human whether a person must approve the output
     * @returns how long the output has waited, in milliseconds; null when it does not wait
     */
    endTask: withFailures(async (ref: StepRef, human: boolean): Promise<number | null> => {
      const step = await crewSteps.getById(ref);
      if (step?.kind !== 'model') throw new Error('the step with the output is not stored');
      if (Buffer.byteLength(step.text) > MAX_OUTPUT_BYTES) {
        throw new ProviderError(`The output of a task must not exceed ${MAX_OUTPUT_BYTES} bytes.`, false);
      }
      const event = human ? 'task_pending_human_input' : 'task_completed';
      await complete(ref.org, async (tx, now) => {
        const execution = await crewExecutions.endTask(ref, step.text, human, now, tx);
        return execution ? taskDelivery(execution, ref, event, now) : undefined;
      });
      if (!human) return null;
      const { waiting_since } = await requireExecution(ref);
      return waiting_since ? Math.max((await deps.now()).getTime() - waiting_since.getTime(), 0) : null;
    }),

    /** Reminds the client of an output that waits for a person. */
    remind: withFailures(async (ref: AttemptRef): Promise<void> => {
      const dedupeKey = `${taskDedupeKey(ref, 'task_pending_human_input')}/reminder`;
      if (await deliveries.getByDedupeKey(ref.org, dedupeKey)) return;
      await complete(ref.org, async (tx, now) => {
        const execution = await crewExecutions.remind(ref, tx);
        return (
          execution && crewDelivery(execution, dedupeKey, { ...waitingEvent(execution, ref), reminder: true }, now)
        );
      });
    }),

    /** pending_human_input -> running | retrying at the deadline, as the crew says. */
    decideAtDeadline: withFailures(async (ref: AttemptRef, is_approve: boolean): Promise<void> => {
      await complete(ref.org, async (tx, now) => {
        const execution = await crewExecutions.decideAtDeadline(ref, is_approve, now, tx);
        if (!execution) return undefined;
        return is_approve ? taskDelivery(execution, ref, 'task_completed', now) : null;
      });
    }),

    /** pending_human_input -> running | retrying, by a person's decision. */
    applyResume: withFailures(async (ref: ResumeRef): Promise<void> => {
      const applied = await complete(ref.org, async (tx, now) => {
        const execution = await crewExecutions.resume(ref, now, tx);
        // Not waiting yet, or applied by an earlier attempt of this activity: the check below distinguishes them.
        if (!execution) return undefined;
        return ref.is_approve ? taskDelivery(execution, ref, 'task_completed', now) : null;
      });
      if (applied || (await crewFeedback.findApplied(ref))?._id === ref.feedback) return;
      // An async task that failed has ended the execution: it will never wait again.
      if ((await requireExecution(ref)).finished_at)
        throw ApplicationFailure.nonRetryable('The execution has ended.', NOT_PENDING);
      throw new Error('the task is not waiting yet');
    }),

    /** -> completed | error, with the delivery that notifies the client. */
    finishExecution: withFailures(async ({ execution: id, org }: CrewRef, outcome: CrewOutcome): Promise<void> => {
      const dedupeKey = `crew/${id}/end`;
      const ended = await complete(org, async (tx, now) => {
        const execution = await crewExecutions.finish(org, id, outcome, now, tx);
        if (!execution) return undefined;
        const { output } = execution.tasks.at(-1)!;
        const event =
          outcome.status === 'completed'
            ? { event: 'crew_completed' as const, output }
            : {
                event: 'crew_failed' as const,
                error: execution.error_message!,
                ...(execution.error_code ? { error_code: execution.error_code } : {}),
              };
        return crewDelivery(execution, dedupeKey, event, now);
      });
      if (ended) deps.metrics.crewFinished(outcome.status);
      await crewExecutions.removeLeftovers(org, id, await deps.now());
    }),
  };

  async function runModel(ref: StepRef, signal: AbortSignal): Promise<AgentStep> {
    const execution = await requireExecution(ref);
    const { agent, task } = assignmentOf(execution, ref.task);
    const model = models.get(agent.llm);
    const turn = await gatherTurn({ crewFeedback, crewSteps, tools }, execution, ref, signal);
    const reply = await model.reply(turn, signal, deps.quotas.tokenMeter(execution.org));
    if (task.output_json !== undefined && reply.tool_calls.length === 0) {
      // The built-in model gives the same output each time.
      reply.text = readJsonOutput(reply.text, task.output_json, model.metered);
    }
    const step: AgentStep = { kind: 'model', ...reply };
    await saveStep(ref, step);
    return step;
  }

  async function runTool(ref: ToolCallRef, signal: AbortSignal): Promise<void> {
    const { call: index, ...modelRef } = ref;
    const modelStep = await crewSteps.getById(modelRef);
    const call = modelStep?.kind === 'model' ? modelStep.tool_calls[index] : undefined;
    if (!call) throw new Error('the step that requested the tool is not stored');
    const execution = await requireExecution(ref);
    const { task } = assignmentOf(execution, ref.task);
    const lastAttempt = attemptNumber() >= MAX_TOOL_ATTEMPTS;
    const { ok, result } = await tools.run(accessOf(execution), call, task.tools, signal, lastAttempt);
    await saveStep(ref, { kind: 'tool', call, ok, result });
  }

  /** Stores a step together with the delivery that notifies the client of it. */
  async function saveStep(ref: StepRef & { call?: number }, step: AgentStep): Promise<void> {
    const dedupeKey = stepDedupeKey(ref);
    await complete(ref.org, async (tx, now) => {
      await crewSteps.add(ref, step, tx);
      const execution = (await crewExecutions.countStep(ref.org, ref.execution, tx)) ?? noLongerStored();
      const { agent } = assignmentOf(execution, ref.task);
      const event = { event: 'step', task_id: ref.task, agent: agent.name, output: describeStep(step) } as const;
      return crewDelivery(execution, dedupeKey, event, now);
    });
  }

  function taskDelivery(execution: CrewExecutionRecord, ref: AttemptRef, event: TaskEvent, now: Date) {
    const data = event === 'task_completed' ? taskEvent(execution, ref, event) : waitingEvent(execution, ref);
    return crewDelivery(execution, taskDedupeKey(ref, event), data, now);
  }

  function waitingEvent(execution: CrewExecutionRecord, ref: AttemptRef): CrewEventData {
    const deadline = deadlineOf(execution);
    return {
      ...taskEvent(execution, ref, 'task_pending_human_input'),
      ...(deadline ? { deadline: deadline.toISOString() } : {}),
      review_url: reviewUrl(deps.publicUrl, execution, ref.task),
    };
  }

  async function requireExecution({ execution, org }: AttemptRef): Promise<CrewExecutionRecord> {
    return (await crewExecutions.getById(org, execution)) ?? noLongerStored();
  }
}

function noLongerStored(): never {
  throw ApplicationFailure.nonRetryable('The execution is no longer stored.');
}

type TaskEvent = 'task_completed' | 'task_pending_human_input';

function taskEvent(execution: CrewExecutionRecord, { task: task_id }: AttemptRef, event: TaskEvent) {
  const { agent, output } = execution.tasks.find((task) => task.task_id === task_id)!;
  return { event, task_id, agent, output };
}

function stepDedupeKey(ref: StepRef & { call?: number }): string {
  return `crew/${stepId(ref)}`;
}

function taskDedupeKey({ execution, task, attempt }: AttemptRef, event: TaskEvent): string {
  return `crew/${execution}/${task}/${attempt}/${event === 'task_completed' ? 'completed' : 'pending'}`;
}
