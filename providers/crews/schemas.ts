import { z } from 'zod';
import { nameSchema } from '../../domain/content/databases.js';
import { DEADLINE_ACTIONS, type HttpTool } from '../../domain/crews/crews.js';

const UNITS_MS = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 } as const;
type Unit = keyof typeof UNITS_MS;

/** The longest duration: ten years. */
const MAX_MS = 3_650 * UNITS_MS.d;

const PARTS = /^(?:\d{1,6} ?(?:s|m|h|d|w|sec|second|min|minute|hour|day|week)s? ?)+$/;
const ISO_8601 = /^p(?!$)(?:(\d{1,6})w)?(?:(\d{1,6})d)?(?:t(?!$)(?:(\d{1,6})h)?(?:(\d{1,6})m)?(?:(\d{1,6})s)?)?$/;

/** A duration such as `90s`, `2h 30m`, `3 days`, `P3D`, or a number of seconds; in milliseconds. */
const durationSchema = z
  .union([z.number(), z.string()], 'must be a duration, such as 90s, 12h or 3d')
  .transform((value) => (typeof value === 'number' ? value * UNITS_MS.s : millisecondsOf(value.trim().toLowerCase())))
  .refine((ms) => ms !== null, 'must be a duration, such as 90s, 12h or 3d')
  .transform((ms) => ms ?? 0)
  .refine((ms) => ms >= UNITS_MS.s && ms <= MAX_MS, 'must be between one second and ten years');

/** @returns null for a text that is not a duration */
function millisecondsOf(text: string): number | null {
  const iso = ISO_8601.exec(text);
  if (iso) {
    const units: Unit[] = ['w', 'd', 'h', 'm', 's'];
    return units.reduce((sum, unit, index) => sum + Number(iso[index + 1] ?? 0) * UNITS_MS[unit], 0);
  }
  if (/^\d{1,9}$/.test(text)) return Number(text) * UNITS_MS.s;
  if (!PARTS.test(text)) return null;
  const parts = [...text.matchAll(/(\d{1,6}) ?([smhdw])/g)];
  return parts.reduce((sum, [, count, unit]) => sum + Number(count) * UNITS_MS[unit as Unit], 0);
}

/** Starts with a letter, because JavaScript sorts numeric keys before all others. */
const NAME = /^\p{L}[\p{L}\p{M}\p{N}_-]{0,63}$/u;
/** Models get the names of tools, and their servers accept no others. */
const TOOL_NAME = /^[A-Za-z][\w-]{0,63}$/;
const BOOLEANS: Readonly<Record<string, boolean>> = {
  true: true,
  yes: true,
  on: true,
  false: false,
  no: false,
  off: false,
};
const REST = 'then letters, digits, "_" and "-", at most 64 characters';
const name = z.string().regex(NAME, `is not a valid name: a letter, ${REST}`);
const toolName = z.string().regex(TOOL_NAME, `is not a valid name: a letter from a to z, ${REST}`);
const anyText = z
  .string({ error: ({ input }) => `must be text${isPlaceholder(input) ? '; put a placeholder in quotes' : ''}` })
  .transform((value) => value.trim());
const text = anyText.refine((value) => value !== '', 'must not be empty');
/** Python's YAML, which CrewAI uses, also reads `yes` and `no` as booleans, and CrewAI takes them in quotes. */
const flag = z.preprocess(
  (value) => (typeof value === 'string' ? (BOOLEANS[value.toLowerCase()] ?? value) : value),
  z.boolean('must be true or false'),
);
const list = <Item extends z.ZodType>(item: Item, what: string) => z.array(item, `must be a list of ${what}`);
const tools = list(text, 'tools');

/** For YAML, `{topic}` without quotes is a map with a key and no value. */
function isPlaceholder(value: unknown): boolean {
  return value instanceof Object && !Array.isArray(value) && Object.values(value).every((entry) => entry === null);
}

/** The message for a value that is not a map. An invalid key has the message of its own rule. */
const mapOf =
  (values: string) =>
  (issue: { code?: string | undefined }): string | undefined =>
    issue.code === 'invalid_key' ? undefined : `must be a map of ${values}`;

/** Settings without a value, such as `tools:`, are as absent. Other settings stay, for `checkSettings`. */
const settings = <Shape extends z.core.$ZodLooseShape>(shape: Shape) =>
  z.preprocess(
    (value) =>
      value !== null && typeof value === 'object' && !Array.isArray(value)
        ? Object.fromEntries(Object.entries(value).filter(([, setting]) => setting !== null))
        : value,
    z.looseObject(shape, 'must be a map of settings'),
  );

const agentShape = {
  role: text,
  goal: text,
  backstory: text,
  tools: tools.optional(),
  llm: text.optional(),
  max_iter: z.int('must be a whole number').min(1, 'must be at least 1').default(20),
};

/** `agents.yaml` of CrewAI. */
export const agentsFile = z
  .record(name, settings(agentShape), { error: mapOf('agents') })
  .refine((agents) => Object.keys(agents).length > 0, 'has no agent');

const taskShape = {
  /** Here or in `crew.yaml`. */
  description: text.optional(),
  expected_output: anyText.default(''),
  agent: text.optional(),
  context: list(text, 'task names').optional(),
  human_input: flag.optional(),
  tools: tools.optional(),
  async_execution: flag.optional(),
};

/** Bounded, because one MongoDB document holds the outputs of all tasks. */
const MAX_TASKS = 50;

/** `tasks.yaml` of CrewAI. */
export const tasksFile = z
  .record(name, settings(taskShape), { error: mapOf('tasks') })
  .refine((tasks) => Object.keys(tasks).length > 0, 'has no task')
  .refine((tasks) => Object.keys(tasks).length <= MAX_TASKS, `has more than ${MAX_TASKS} tasks`);

/** A tool by HTTP: an operation of an API, or an MCP server. */
const httpTool = z
  .strictObject(
    {
      openapi: z.url('must be a URL').optional(),
      operation: text.optional(),
      server: z.url('must be a URL').optional(),
      mcp: z.url('must be a URL').optional(),
      allow: list(text, 'tools').optional(),
      headers: z.record(z.string().regex(/^[\w-]+$/), z.string(), 'must be a map of texts').optional(),
    },
    'must be a map of settings',
  )
  .transform(({ openapi, operation, server, mcp, allow, headers = {} }, ctx): HttpTool => {
    if (openapi !== undefined && operation !== undefined && mcp === undefined && allow === undefined) {
      return { openapi, operation, ...(server === undefined ? {} : { server }), headers };
    }
    if (mcp !== undefined && openapi === undefined && operation === undefined && server === undefined) {
      return { mcp, allow: allow ?? null, headers };
    }
    ctx.addIssue({ code: 'custom', message: 'must have openapi and operation, or mcp' });
    return z.NEVER;
  });

const crewShape = {
  process: z
    .literal(
      'sequential',
      'can only be sequential: a hierarchical process is not supported; name an agent for each task',
    )
    .optional(),
  tasks: list(
    settings({
      ...taskShape,
      task: text,
      expected_output: anyText.optional(),
    }),
    'tasks',
  ).optional(),
  inputs: z
    .record(
      z.string(),
      z.strictObject({ description: text.optional(), default: z.json().optional() }, 'must be a map of settings'),
      'must be a map of inputs',
    )
    .optional(),
  organisations: list(text, 'organisations').min(1, 'must name an organisation').optional(),
  databases: list(nameSchema, 'databases').optional(),
  tools: z.record(toolName, httpTool, { error: mapOf('tools') }).optional(),
  deadline: durationSchema.optional(),
  reminder: durationSchema.optional(),
  on_deadline: z.enum(DEADLINE_ACTIONS, `must be ${DEADLINE_ACTIONS.join(', ')}`).optional(),
};

/** `crew.yaml`, which CrewAI does not have: settings that its users write in Python. */
export const crewFile = settings(crewShape);

/** The names of the settings that are honoured, by file. */
export const AGENT_KEYS = Object.keys(agentShape);
export const TASK_KEYS = Object.keys(taskShape);
export const CREW_KEYS = Object.keys(crewShape);
