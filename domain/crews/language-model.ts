import type { TokenMeter } from '../quotas.js';

/** The contract between the steps of a crew and the models in `providers/language-models/`. */

/** A tool that a model may call. */
export interface ToolOffer {
  name: string;
  description: string;
  /** JSON Schema of its arguments. */
  parameters: Record<string, unknown>;
}

export interface ToolCall {
  id: string;
  tool: string;
  arguments: Record<string, unknown>;
  /** The model's arguments were not a JSON object, and `arguments` is empty: the call is not made. */
  malformed?: true;
}

/** A finished step of an attempt. */
export type AgentStep =
  | { kind: 'model'; text: string; tool_calls: ToolCall[] }
  | { kind: 'tool'; call: ToolCall; ok: boolean; result: string };

/** A step as callbacks and the API show it. */
export function describeStep(step: AgentStep) {
  if (step.kind === 'tool') {
    const { call, ok, result } = step;
    return { type: 'action' as const, tool: call.tool, input: call.arguments, ok, result };
  }
  const actions = step.tool_calls.map(({ tool, arguments: input }) => ({ tool, input }));
  return { type: 'thought' as const, text: step.text, ...(actions.length > 0 ? { actions } : {}) };
}

/** The input of one model call, with placeholders filled in. */
export interface AgentTurn {
  agent: { role: string; goal: string; backstory: string };
  /**
   * `own_words`: the description without the inputs, to distinguish the task's words from its material. `schema`: a JSON schema that
   * the output must match, as text.
   */
  task: { description: string; own_words: string; expected_output: string; schema?: string };
  /** The inputs that the description names, in its order. */
  inputs: string[];
  /** Outputs of earlier tasks. */
  context: { task: string; output: string }[];
  /** Feedback of people on earlier tasks, oldest first. */
  remarks: { task: string; text: string }[];
  /** Rejected attempts at this task, oldest first. */
  rejections: { output: string; feedback: string }[];
  steps: AgentStep[];
  tools: ToolOffer[];
  /** True at the last model call of the attempt, which may not call tools. */
  must_finish: boolean;
}

/** Without tool calls, the text is the task's output. */
export interface ModelReply {
  text: string;
  tool_calls: ToolCall[];
}

export interface LanguageModel {
  /** Shown in a task's status. */
  readonly label: string;
  /** Whether it uses tokens that count against a quota. */
  readonly metered: boolean;
  /** @throws ProviderError; the signal's reason when it was aborted */
  reply(turn: AgentTurn, signal: AbortSignal, meter: TokenMeter): Promise<ModelReply>;
}

export interface LanguageModels {
  /** @param llm the name in agents.yaml; null for the default */
  get(llm: string | null): LanguageModel;
}
