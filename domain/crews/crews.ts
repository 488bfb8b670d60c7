import { z } from 'zod';

/** Statuses of an execution; the last two are final. */
export const EXECUTION_STATUSES = ['running', 'pending_human_input', 'retrying', 'completed', 'error'] as const;
export type ExecutionStatus = (typeof EXECUTION_STATUSES)[number];

/** Statuses of a task in an execution: as the execution's, and before its turn `pending`. */
export const CREW_TASK_STATUSES = ['pending', ...EXECUTION_STATUSES] as const;
export type CrewTaskStatus = (typeof CREW_TASK_STATUSES)[number];

/** What an agent may use beside its model. */
export const CREW_TOOLS = ['query_database', 'fetch_page'] as const;
export type CrewToolName = (typeof CREW_TOOLS)[number];

/** An agent as `agents.yaml` describes it. */
export interface CrewAgent {
  name: string;
  role: string;
  goal: string;
  backstory: string;
  tools: CrewToolName[];
  /** A model's name, or `built-in`; null: the default. */
  llm: string | null;
  /** Model calls of one attempt at a task; the last one must answer. */
  max_iter: number;
}

/** A task as `tasks.yaml` describes it, in the order in which they run. */
export interface CrewTask {
  name: string;
  description: string;
  expected_output: string;
  agent: string;
  /** Names of the earlier tasks whose outputs it is given; all of them where the file names none. */
  context: string[];
  human_input: boolean;
  /** Its own, or else its agent's. */
  tools: CrewToolName[];
}

export interface CrewDefinition {
  name: string;
  agents: CrewAgent[];
  tasks: CrewTask[];
  /** Names of the placeholders, in the order in which they appear. */
  inputs: string[];
}

/** CrewAI's own pattern: other braces, JSON for example, stand as they are. */
const PLACEHOLDER = /\{([A-Za-z_][A-Za-z0-9_-]*)\}/g;

export function placeholdersOf(text: string): string[] {
  return [...text.matchAll(PLACEHOLDER)].map(([, name]) => name!);
}

/** As they stand in a text: what was given as a number or an object, in JSON. */
export type CrewInputs = Record<string, string>;

/** Replaces placeholders once: what an input itself says in braces stays as it is. */
export function fillIn(text: string, inputs: CrewInputs): string {
  return text.replace(PLACEHOLDER, (whole, name: string) => (Object.hasOwn(inputs, name) ? inputs[name]! : whole));
}

const inputValue = z.unknown().refine((value) => value !== null && value !== undefined, 'must not be null');
const url = z.string().max(2048);
const webhookUrls = {
  taskWebhookUrl: url.optional(),
  stepWebhookUrl: url.optional(),
  crewWebhookUrl: url.optional(),
};

/** The body of `POST /kickoff`. */
export const kickoffRequestSchema = z.object({
  inputs: z.record(z.string(), inputValue).default({}),
  meta: z.record(z.string(), z.unknown()).optional(),
  ...webhookUrls,
});

/** The body of `POST /resume` (specification, "Part A: resume request"). */
export const resumeRequestSchema = z.object({
  execution_id: z.uuid('must be a UUID'),
  task_id: z.string().min(1).max(200),
  human_feedback: z
    .string()
    .max(20_000)
    .refine((text) => text.trim() !== '', 'must not be empty'),
  is_approve: z.boolean(),
  ...webhookUrls,
});

/** Where callbacks of an execution go; null: nobody is told. */
export interface WebhookUrls {
  task: string | null;
  step: string | null;
  crew: string | null;
}

/** The URLs of a request, and of that request alone: none is carried over from an earlier one. */
export function webhookUrlsOf(body: {
  taskWebhookUrl?: string | undefined;
  stepWebhookUrl?: string | undefined;
  crewWebhookUrl?: string | undefined;
}): WebhookUrls {
  return {
    task: body.taskWebhookUrl ?? null,
    step: body.stepWebhookUrl ?? null,
    crew: body.crewWebhookUrl ?? null,
  };
}
