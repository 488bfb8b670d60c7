import { type CrewAgent, type CrewInputs, type CrewTask, fillIn, placeholdersOf } from '../../domain/crews/crews.js';
import type { AgentTurn } from '../../domain/crews/language-model.js';
import type { StepRef } from '../../domain/crews/workflow-contract.js';
import type { CrewExecutionRecord } from '../../storage/crews/executions.js';
import type { CrewFeedback } from '../../storage/crews/feedback.js';
import type { CrewSteps } from '../../storage/crews/steps.js';
import type { CrewTools } from './tools.js';

/** What people said is given to a model up to so many times, the latest. */
const MAX_FEEDBACK = 10;

/** A task of an execution and the agent that works on it, as they were when it was kicked off. */
export function assignmentOf(execution: CrewExecutionRecord, name: string): { task: CrewTask; agent: CrewAgent } {
  const task = execution.definition.tasks.find((one) => one.name === name)!;
  const agent = execution.definition.agents.find((one) => one.name === task.agent)!;
  return { task, agent };
}

/** Executions kicked off before inputs were kept as they stand in a text have values of any kind. */
function inputsOf(execution: CrewExecutionRecord): CrewInputs {
  const given = Object.entries(JSON.parse(execution.inputs) as Record<string, unknown>);
  return Object.fromEntries(
    given.map(([name, value]) => [name, typeof value === 'string' ? value : JSON.stringify(value)]),
  );
}

/** All that a model call is about, gathered from the execution's records. */
export async function gatherTurn(
  stores: { crewFeedback: Pick<CrewFeedback, 'listApplied'>; crewSteps: CrewSteps; tools: CrewTools },
  execution: CrewExecutionRecord,
  at: StepRef,
): Promise<AgentTurn> {
  const { task, agent } = assignmentOf(execution, at.task);
  const inputs = inputsOf(execution);
  const fill = (text: string) => fillIn(text, inputs);
  const outputs = new Map(execution.tasks.map(({ task_id, output }) => [task_id, output]));
  const feedback = await stores.crewFeedback.listApplied(execution._id);
  const rejected = feedback.filter((one) => one.task === at.task && !one.is_approve && one.attempt < at.attempt);
  return {
    agent: { role: fill(agent.role), goal: fill(agent.goal), backstory: fill(agent.backstory) },
    task: { description: fill(task.description), expected_output: fill(task.expected_output) },
    inputs: [...new Set(placeholdersOf(task.description))].map((name) => inputs[name]!),
    context: task.context.map((name) => ({ task: name, output: outputs.get(name) ?? '' })),
    remarks: feedback
      .filter((one) => one.task !== at.task)
      .slice(-MAX_FEEDBACK)
      .map(({ task, text }) => ({ task, text })),
    rejections: rejected.slice(-MAX_FEEDBACK).map(({ output, text }) => ({ output: output ?? '', feedback: text })),
    steps: await stores.crewSteps.listByAttempt(at),
    tools: await stores.tools.offers(execution.org, task.tools),
    must_answer: at.last ?? false,
  };
}
