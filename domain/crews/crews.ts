import { z } from 'zod';
import { callbackUrlSchema } from '../webhooks/registrations.js';
import { staticHeadersSchema } from '../webhooks/static-headers.js';

/** Why an execution ended as `error`, where clients may handle it differently. */
export const EXECUTION_ERROR_CODES = ['cancelled', 'deadline_exceeded'] as const;
export type ExecutionErrorCode = (typeof EXECUTION_ERROR_CODES)[number];

/** What happens to an output that nobody has decided on at the deadline. */
export const DEADLINE_ACTIONS = ['fail', 'approve', 'reject'] as const;

/** How long an output waits for a person; counted from the moment it waits. */
export interface CrewReview {
  deadline_ms: number | null;
  /** When the client is reminded, once. */
  reminder_ms: number | null;
  on_deadline: (typeof DEADLINE_ACTIONS)[number];
}

/** The built-in tools of agents. `crew.yaml` can describe others. */
export const CREW_TOOLS = ['query_database', 'fetch_page'] as const;
export type CrewToolName = (typeof CREW_TOOLS)[number];

/** An agent as `agents.yaml` describes it. */
export interface CrewAgent {
  name: string;
  role: string;
  goal: string;
  backstory: string;
  tools: string[];
  /** A model's name, or `built-in`; null for the default model. */
  llm: string | null;
  /** Maximum number of model calls in one attempt at a task. The last call must return the output. */
  max_iter: number;
}

/** A task as `tasks.yaml` describes it. Tasks run in the order of the file. */
export interface CrewTask {
  name: string;
  description: string;
  expected_output: string;
  agent: string;
  /** Names of the earlier tasks whose outputs the task receives; by default all. */
  context: string[];
  human_input: boolean;
  /** Whether later tasks that do not need its output run beside it. */
  async_execution?: boolean;
  /** The task's own tools, or else its agent's. */
  tools: string[];
  /** A JSON schema that the output must match, as text, because MongoDB does not store every field name. */
  output_json?: string;
}

/** What `crew.yaml` allows. */
export interface CrewAccess {
  /** The organisations that may run the crew; null: every organisation. */
  organisations: string[] | null;
  /** The databases of the organisation that the crew's agents may query; null: all of them. */
  databases: string[] | null;
}

/** A crew as its files describe it. */
export interface CrewDefinition extends CrewAccess {
  name: string;
  /** Absent: outputs wait for a person without limit. */
  review?: CrewReview;
  /** The tools that `crew.yaml` describes. */
  tools?: Record<string, HttpTool>;
  agents: CrewAgent[];
  tasks: CrewTask[];
  /** Names of the placeholders, in order of appearance. */
  inputs: string[];
}

/** What `crew.yaml` says about an input. */
export interface CrewInputSettings {
  description: string | null;
  /** Used when a kickoff does not give the input; null: the kickoff must. */
  default: string | null;
}

/** A crew in the folder of crews. Executions keep its definition only. */
export interface DeployedCrew extends CrewDefinition {
  input_settings: Record<string, CrewInputSettings>;
  /** Settings in its files that are not honoured, each with file and line. */
  warnings: string[];
}

/** A crew in the folder of crews whose files have mistakes, so that it cannot run. */
export interface InvalidCrew {
  /** The organisations that it is for; null: all. */
  organisations: readonly string[] | null;
  /** The mistakes, each with file and line. */
  problems: readonly string[];
}

/** Whether agents of the crew can query databases. */
export function queriesDatabases({ tasks }: CrewDefinition): boolean {
  return tasks.some(({ tools }) => tools.includes('query_database'));
}

/** CrewAI's pattern. Other braces, for example in JSON, do not change. */
const PLACEHOLDER = /\{([A-Za-z_][A-Za-z0-9_-]*)\}/g;

/** @returns the names of the placeholders in a text, in order, with duplicates */
export function placeholdersOf(text: string): string[] {
  return [...text.matchAll(PLACEHOLDER)].map(([, name]) => name!);
}

/** Texts by placeholder; numbers and objects as JSON. */
export type CrewInputs = Record<string, string>;

/** Replaces placeholders. Braces inside an input are not replaced again. */
export function fillIn(text: string, inputs: CrewInputs): string {
  return text.replace(PLACEHOLDER, (whole, name: string) => (Object.hasOwn(inputs, name) ? inputs[name]! : whole));
}

const inputValue = z
  .unknown()
  .refine((value) => value !== null && value !== undefined, 'must not be null')
  .meta({ not: { type: 'null' } });
const url = callbackUrlSchema.optional();
const webhookUrls = { taskWebhookUrl: url, stepWebhookUrl: url, crewWebhookUrl: url };

/** The body of `POST /kickoff`. */
export const kickoffRequestSchema = z.object({
  inputs: z.record(z.string(), inputValue).default({}),
  meta: z.record(z.string(), z.unknown()).optional(),
  ...webhookUrls,
  webhookHeaders: staticHeadersSchema.optional(),
});

/** The body of `POST /resume` (specification, "Part A: resume request"). */
export const resumeRequestSchema = z.object({
  // Of any version: an id that nobody has is not found.
  execution_id: z.guid('must be a UUID'),
  task_id: z.string().min(1).max(200),
  human_feedback: z.string().max(20_000).regex(/\S/, 'must not be empty'),
  is_approve: z.boolean(),
  attempt: z.int().positive().optional().meta({
    description:
      'The attempt whose output the person has read. With it, the decision does not count for the output of another attempt.',
  }),
  ...webhookUrls,
  webhookHeaders: staticHeadersSchema.optional().meta({
    description:
      `${staticHeadersSchema.description} Without this field those so far are kept, when the URLs have origins that the ` +
      'URLs so far have; `{}` removes them.',
  }),
});

/** The decision of a person on a review page. The receivers of callbacks stay. */
export const reviewDecisionSchema = z
  .object({
    is_approve: z.boolean(),
    human_feedback: resumeRequestSchema.shape.human_feedback.optional(),
  })
  .refine(({ is_approve, human_feedback }) => is_approve || human_feedback !== undefined, {
    message: 'is required to reject an output',
    path: ['human_feedback'],
  })
  .meta({ anyOf: [{ properties: { is_approve: { const: true } } }, { required: ['human_feedback'] }] });

/** Receivers of an execution's callbacks; null when there is no receiver. */
export interface WebhookUrls {
  task: string | null;
  step: string | null;
  crew: string | null;
}

/** @returns the URLs of a request. URLs of earlier requests are not reused */
export function webhookUrlsOf(body: { [Field in keyof typeof webhookUrls]?: string | undefined }): WebhookUrls {
  return {
    task: body.taskWebhookUrl ?? null,
    step: body.stepWebhookUrl ?? null,
    crew: body.crewWebhookUrl ?? null,
  };
}

/** @returns the URLs as fields of a request or a response, without absent ones */
export function webhookFieldsOf({ task, step, crew }: WebhookUrls) {
  return {
    ...(task === null ? {} : { taskWebhookUrl: task }),
    ...(step === null ? {} : { stepWebhookUrl: step }),
    ...(crew === null ? {} : { crewWebhookUrl: crew }),
  };
}

/** A tool that `crew.yaml` describes. Its definition is stored with executions, so it names secrets and holds none. */
export type HttpTool = OpenApiTool | McpServer;

interface HttpToolBase {
  /** Sent with each request. `${NAME}` is replaced by the secret of that name. */
  headers: Record<string, string>;
}

/** One operation of an API. */
export interface OpenApiTool extends HttpToolBase {
  /** URL of the OpenAPI document, JSON or YAML. */
  openapi: string;
  /** Its `operationId`. */
  operation: string;
  /** URL of the server that gets the secrets in `headers`; by default, that of the document. */
  server?: string | undefined;
}

/** The tools of an MCP server, offered as `<name>_<tool>`. */
export interface McpServer extends HttpToolBase {
  /** URL of the server (transport "Streamable HTTP"). */
  mcp: string;
  /** Names of the server's tools that agents may use; null: all of them. */
  allow: string[] | null;
}
