import { z } from 'zod';
import { nameSchema } from '../../domain/content/databases.js';
import { CREW_TOOLS } from '../../domain/crews/crews.js';

/** Starts with a letter, because JavaScript sorts numeric keys before all others. */
const NAME = /^[A-Za-z][\w-]{0,63}$/;
const name = z
  .string()
  .regex(NAME, 'is not a valid name: a letter, then letters, digits, "_" and "-", at most 64 characters');
const text = z
  .string('must be text')
  .transform((value) => value.trim())
  .refine((value) => value !== '', 'must not be empty');
const tools = z.array(
  z.enum(CREW_TOOLS, `is not a tool; the tools are ${CREW_TOOLS.join(' and ')}`),
  'must be a list of tools',
);

/** The message for a value that is not a map. An invalid key has the message of its own rule. */
const mapOf =
  (values: string) =>
  (issue: { code?: string | undefined }): string | undefined =>
    issue.code === 'invalid_key' ? undefined : `must be a map of ${values}`;

/** `agents.yaml` of CrewAI. Settings that are not supported are accepted only with the value that changes nothing. */
export const agentsFile = z
  .record(
    name,
    z.strictObject(
      {
        role: text,
        goal: text,
        backstory: text,
        tools: tools.optional(),
        llm: text.optional(),
        max_iter: z
          .int('must be a whole number')
          .min(1, 'must be between 1 and 50')
          .max(50, 'must be between 1 and 50')
          .default(20),
        verbose: z.boolean('must be true or false').optional(),
        allow_delegation: z.literal(false, 'can only be false: agents do not delegate').optional(),
      },
      'must be a map of settings',
    ),
    { error: mapOf('agents') },
  )
  .refine((agents) => Object.keys(agents).length > 0, 'has no agent');

const list = <Item extends z.ZodType>(item: Item, what: string) => z.array(item, `must be a list of ${what}`);

/** `crew.yaml`, which CrewAI does not have. */
export const crewFile = z.strictObject(
  {
    organisations: list(text, 'organisations').min(1, 'must name an organisation').optional(),
    databases: list(nameSchema, 'databases').optional(),
  },
  'must be a map of settings',
);

/** Bounded, because one MongoDB document holds the outputs of all tasks. */
const MAX_TASKS = 50;

/** `tasks.yaml` of CrewAI. Tasks run in the order of the file. */
export const tasksFile = z
  .record(
    name,
    z.strictObject(
      {
        description: text,
        expected_output: text,
        agent: text,
        context: z.array(text, 'must be a list of task names').optional(),
        human_input: z.boolean('must be true or false').default(false),
        tools: tools.optional(),
        async_execution: z.literal(false, 'can only be false: tasks run one after the other').optional(),
      },
      'must be a map of settings',
    ),
    { error: mapOf('tasks') },
  )
  .refine((tasks) => Object.keys(tasks).length > 0, 'has no task')
  .refine((tasks) => Object.keys(tasks).length <= MAX_TASKS, `has more than ${MAX_TASKS} tasks`);
