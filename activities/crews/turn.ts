/** One call of a model: its input, and how its output is read. */
import { z } from 'zod';
import { type CrewAgent, type CrewInputs, type CrewTask, fillIn, placeholdersOf } from '../../domain/crews/crews.js';
import type { AgentTurn } from '../../domain/crews/language-model.js';
import type { StepRef } from '../../domain/crews/workflow-contract.js';
import { ProviderError } from '../../domain/errors.js';
import type { CrewExecutionRecord } from '../../storage/crews/execution-record.js';
import type { CrewFeedback } from '../../storage/crews/feedback.js';
import type { CrewSteps } from '../../storage/crews/steps.js';
import type { ToolAccess } from './tool.js';
import type { CrewTools } from './tools.js';

/** Only the latest remarks and rejections are given to a model. */
const MAX_FEEDBACK = 10;

/** A task of an execution and its agent, by the definition at kickoff. */
export function assignmentOf(execution: CrewExecutionRecord, taskName: string): { task: CrewTask; agent: CrewAgent } {
  const { tasks, agents } = execution.definition;
  const task = tasks.find(({ name }) => name === taskName)!;
  const agent = agents.find(({ name }) => name === task.agent)!;
  return { task, agent };
}

/** What the tools of an execution may read. */
export function accessOf({ org, definition: { databases, tools = {} } }: CrewExecutionRecord): ToolAccess {
  return { org, databases, tools };
}

/** Older executions have inputs of any type. */
function inputsOf(execution: CrewExecutionRecord): CrewInputs {
  const inputs = Object.entries(JSON.parse(execution.inputs) as Record<string, unknown>);
  return Object.fromEntries(
    inputs.map(([name, value]) => [name, typeof value === 'string' ? value : JSON.stringify(value)]),
  );
}

interface TurnDependencies {
  crewFeedback: Pick<CrewFeedback, 'listForAttempt'>;
  crewSteps: Pick<CrewSteps, 'listByAttempt'>;
  tools: Pick<CrewTools, 'offers'>;
}

/** Gathers everything that one model call needs from the execution's records. */
export async function gatherTurn(
  { crewFeedback, crewSteps, tools }: TurnDependencies,
  execution: CrewExecutionRecord,
  ref: StepRef,
  signal: AbortSignal,
): Promise<AgentTurn> {
  const { task, agent } = assignmentOf(execution, ref.task);
  const inputs = inputsOf(execution);
  const fill = (text: string) => fillIn(text, inputs);
  const outputs = new Map(execution.tasks.map(({ task_id, output }) => [task_id, output]));
  const { remarks, rejections } = await crewFeedback.listForAttempt(ref, MAX_FEEDBACK);
  return {
    agent: { role: fill(agent.role), goal: fill(agent.goal), backstory: fill(agent.backstory) },
    task: {
      description: fill(task.description),
      own_words: fillIn(task.description, Object.fromEntries(Object.keys(inputs).map((name) => [name, ' ']))),
      expected_output: fill(task.expected_output),
      ...(task.output_json === undefined ? {} : { schema: task.output_json }),
    },
    inputs: [...new Set(placeholdersOf(task.description))].map((name) => inputs[name]!),
    context: task.context.map((name) => ({ task: name, output: outputs.get(name) ?? '' })),
    remarks: remarks.map(({ task, text }) => ({ task, text })),
    rejections: rejections.map(({ output, text }) => ({ output: output ?? '', feedback: text })),
    steps: await crewSteps.listByAttempt(ref),
    tools: await tools.offers(accessOf(execution), task.tools, signal),
    must_finish: ref.last ?? false,
  };
}

/**
 * Reads an output that must be JSON.
 * @param schema a JSON schema, as text
 * @param retryable whether the model may do better at the next call
 * @returns the JSON without anything around it
 * @throws ProviderError when it is not JSON, or does not match the schema
 */
export function readJsonOutput(text: string, schema: string, retryable: boolean): string {
  // Models like to put JSON into a block of Markdown.
  const json = (/^```\w*\n([\s\S]*?)\n?```$/.exec(text.trim())?.[1] ?? text).trim();
  let value: unknown;
  try {
    value = JSON.parse(json);
  } catch {
    throw new ProviderError('The output of the model is not JSON, as output_json demands.', retryable);
  }
  const checked = z.fromJSONSchema(JSON.parse(schema)).safeParse(value);
  if (checked.success) return json;
  const [issue] = checked.error.issues;
  const place = issue?.path.join('.') || 'the value';
  throw new ProviderError(`The output of the model does not match output_json: ${place} is not valid.`, retryable);
}
