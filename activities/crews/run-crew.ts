import { ApplicationFailure } from '@temporalio/activity';
import type { Logger } from 'pino';
import { crewDelivery } from '../../domain/crews/crew-delivery.js';
import type { AgentStep, LanguageModels } from '../../domain/crews/language-model.js';
import type {
  AttemptRef,
  CrewOutcome,
  CrewRef,
  ResumeRef,
  StepRef,
  ToolCallRef,
} from '../../domain/crews/workflow-contract.js';
import { ProviderError } from '../../domain/errors.js';
import type { CrewExecutionRecord, CrewExecutions } from '../../storage/crews/executions.js';
import type { CrewFeedback } from '../../storage/crews/feedback.js';
import { type CrewSteps, stepId } from '../../storage/crews/steps.js';
import { attemptNumber } from '../failures.js';
import { withHeartbeat } from '../heartbeat.js';
import { type CompletionDependencies, createCompletion } from '../webhooks/completion.js';
import { crewFailures } from './failures.js';
import { type CrewToolDependencies, createCrewTools } from './tools.js';
import { assignmentOf, gatherTurn } from './turn.js';

export interface CrewDependencies extends CompletionDependencies, CrewToolDependencies {
  crewExecutions: CrewExecutions;
  crewFeedback: Pick<CrewFeedback, 'isApplied' | 'listApplied'>;
  crewSteps: CrewSteps;
  models: LanguageModels;
  log: Logger;
}

export type CrewActivities = ReturnType<typeof createCrewActivities>;

/** A MongoDB document holds the outputs of all tasks, fifty at the most. */
const MAX_OUTPUT_BYTES = 200 * 1024;
/** After so many tries what keeps a tool from working is told to the model. */
const MAX_TOOL_TRIES = 3;

/** The steps of a crew's execution. Each may be repeated without harm: what it made before is found, not made again. */
export function createCrewActivities(deps: CrewDependencies) {
  const { crewExecutions, crewFeedback, crewSteps, models } = deps;
  const complete = createCompletion(deps);
  const tools = createCrewTools(deps);
  const guarded = crewFailures(deps.log);

  return {
    /** An attempt at a task begins: pending -> running, or retrying after a rejection. */
    startTask: guarded(async (at: AttemptRef): Promise<void> => {
      const { agent } = assignmentOf(await load(at.execution), at.task);
      await crewExecutions.startTask(at, models.get(agent.llm).label);
    }),

    /** One thought of the agent: an answer, or the tools it wants to use. @returns how many of these */
    callModel: guarded(async (at: StepRef): Promise<{ tool_calls: number }> => {
      const step = (await crewSteps.getById(at)) ?? (await withHeartbeat((signal) => think(at, signal)));
      return { tool_calls: step.kind === 'model' ? step.tool_calls.length : 0 };
    }),

    /** One tool call that the agent asked for. A tool that cannot do it says so to the agent. */
    callTool: guarded(async (at: ToolCallRef): Promise<void> => {
      if (!(await crewSteps.getById(at))) await withHeartbeat((signal) => act(at, signal));
    }),

    /** running -> completed, or pending_human_input, and announces it. @param human whether a person has to agree */
    endTask: guarded(async (at: StepRef, human: boolean): Promise<void> => {
      const answer = await crewSteps.getById(at);
      if (answer?.kind !== 'model') throw new Error('the step that answers is not stored');
      if (Buffer.byteLength(answer.text) > MAX_OUTPUT_BYTES) {
        throw new ProviderError(`The output of a task may have ${MAX_OUTPUT_BYTES} bytes at the most.`, false);
      }
      await complete(`${attemptKey(at)}/${human ? 'pending' : 'completed'}`, async (session, now) => {
        const execution = await crewExecutions.endTask(at, answer.text, human, session);
        return execution && announceTask(execution, at, human ? 'task_pending_human_input' : 'task_completed', now);
      });
    }),

    /** pending_human_input -> running | retrying, as a person answered. */
    applyResume: guarded(async (ref: ResumeRef): Promise<void> => {
      const done = await complete(`${attemptKey(ref)}/completed`, async (session, now) => {
        const execution = await crewExecutions.resume(ref, now, session);
        if (!execution || !ref.is_approve) return execution && null;
        return announceTask(execution, ref, 'task_completed', now);
      });
      if (!done && !(await crewFeedback.isApplied(ref.feedback))) throw new Error('the task does not wait yet');
    }),

    /** -> completed | error, with the delivery that announces it. */
    finishExecution: guarded(async ({ execution: id }: CrewRef, outcome: CrewOutcome): Promise<void> => {
      const dedupeKey = `crew/${id}/end`;
      await complete(dedupeKey, async (session, now) => {
        const execution = await crewExecutions.finish(id, outcome, now, session);
        if (!execution) return undefined;
        const { output } = execution.tasks.at(-1)!;
        const event =
          outcome.status === 'completed'
            ? { event: 'crew_completed' as const, output }
            : { event: 'crew_failed' as const, error: execution.error_message! };
        return crewDelivery(execution, dedupeKey, event, now);
      });
      await crewExecutions.removeLeftovers(id, new Date());
    }),
  };

  async function think(at: StepRef, signal: AbortSignal): Promise<AgentStep> {
    const execution = await load(at.execution);
    const model = models.get(assignmentOf(execution, at.task).agent.llm);
    const reply = await model.reply(await gatherTurn({ crewFeedback, crewSteps, tools }, execution, at), signal);
    const step: AgentStep = { kind: 'model', ...reply };
    const actions = reply.tool_calls.map(({ tool, arguments: input }) => ({ tool, input }));
    await keep(at, step, { type: 'thought', text: reply.text, ...(actions.length > 0 ? { actions } : {}) });
    return step;
  }

  async function act(at: ToolCallRef, signal: AbortSignal): Promise<void> {
    const { call: index, ...asking } = at;
    const thought = await crewSteps.getById(asking);
    const call = thought?.kind === 'model' ? thought.tool_calls[index] : undefined;
    if (!call) throw new Error('the step that asked for the tool is not stored');
    const execution = await load(at.execution);
    const { task } = assignmentOf(execution, at.task);
    const lastTry = attemptNumber() >= MAX_TOOL_TRIES;
    const { ok, result } = await tools.run(execution.org, call, task.tools, signal, lastTry);
    const told = { type: 'action', tool: call.tool, input: call.arguments, ok, result };
    await keep(at, { kind: 'tool', call, ok, result }, told);
  }

  /** A step and its announcement are written together. */
  async function keep(at: StepRef & { call?: number }, step: AgentStep, output: object): Promise<void> {
    const dedupeKey = `crew/${stepId(at)}`;
    await complete(dedupeKey, async (session, now) => {
      await crewSteps.add(at, step, session);
      // Read here: a resume may have changed who is told.
      const execution = await load(at.execution);
      const { agent } = assignmentOf(execution, at.task);
      return crewDelivery(execution, dedupeKey, { event: 'step', task_id: at.task, agent: agent.name, output }, now);
    });
  }

  async function load(id: string): Promise<CrewExecutionRecord> {
    const execution = await crewExecutions.getById(id);
    if (execution) return execution;
    throw ApplicationFailure.nonRetryable('The execution is not stored any more.');
  }
}

function announceTask(
  execution: CrewExecutionRecord,
  at: AttemptRef,
  event: 'task_completed' | 'task_pending_human_input',
  now: Date,
) {
  const { agent, output } = execution.tasks.find(({ task_id }) => task_id === at.task)!;
  const dedupeKey = `${attemptKey(at)}/${event === 'task_completed' ? 'completed' : 'pending'}`;
  return crewDelivery(execution, dedupeKey, { event, task_id: at.task, agent, output }, now);
}

const attemptKey = ({ execution, task, attempt }: AttemptRef) => `crew/${execution}/${task}/${attempt}`;
