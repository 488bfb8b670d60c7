import type { CrewToolName } from './crews.js';

/** What an agent's model is given and gives: the words between the steps of a crew and `providers/language-models/`. */

/** A tool as it is offered to a model. */
export interface ToolOffer {
  name: CrewToolName;
  description: string;
  /** JSON Schema of its arguments. */
  parameters: Record<string, unknown>;
}

export interface ToolCall {
  id: string;
  tool: string;
  arguments: Record<string, unknown>;
}

/** One step of an attempt that has been made. */
export type AgentStep =
  | { kind: 'model'; text: string; tool_calls: ToolCall[] }
  | { kind: 'tool'; call: ToolCall; ok: boolean; result: string };

/** All that one model call is about; placeholders are filled in. */
export interface AgentTurn {
  agent: { role: string; goal: string; backstory: string };
  task: { description: string; expected_output: string };
  /** The inputs that the description names, in its order: for those who must tell a task's words from its material. */
  inputs: string[];
  /** Outputs of earlier tasks. */
  context: { task: string; output: string }[];
  /** What people said about earlier tasks, oldest first. */
  remarks: { task: string; text: string }[];
  /** What people found wrong with earlier attempts at this task, oldest first. */
  rejections: { output: string; feedback: string }[];
  steps: AgentStep[];
  tools: ToolOffer[];
  /** No more tool calls: the attempt is at its last model call. */
  must_answer: boolean;
}

/** No tool calls: the text is the task's output. */
export interface ModelReply {
  text: string;
  tool_calls: ToolCall[];
}

export interface LanguageModel {
  /** Shown in a task's status. */
  readonly label: string;
  /** @throws ProviderError; the signal's reason when it was aborted */
  reply(turn: AgentTurn, signal: AbortSignal): Promise<ModelReply>;
}

export interface LanguageModels {
  /** @param llm as an agent names it; null: the default */
  get(llm: string | null): LanguageModel;
}
