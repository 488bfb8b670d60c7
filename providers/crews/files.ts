import { z } from 'zod';
import { CREW_TOOLS } from '../../domain/crews/crews.js';

/** A letter first: JavaScript would sort names that are numbers before the others. */
const NAME = /^[A-Za-z][\w-]{0,63}$/;
const name = z.string().regex(NAME, 'is no name: a letter, then letters, digits, "_" and "-", at most 64 in all');
const text = z
  .string('must be text')
  .transform((value) => value.trim())
  .refine((value) => value !== '', 'must not be empty');
const tools = z.array(
  z.enum(CREW_TOOLS, `is no tool; there are ${CREW_TOOLS.join(' and ')}`),
  'must be a list of tools',
);

/** What is wrong with a name is told by the name's own rule. */
const mapOf =
  (what: string) =>
  (issue: { code?: string | undefined }): string | undefined =>
    issue.code === 'invalid_key' ? undefined : `must be a map of ${what}`;

/** `agents.yaml`, as CrewAI has it. Settings of CrewAI that would change nothing here are accepted with that value alone. */
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
        max_iter: z.int('must be a whole number').min(1, 'must be 1 to 50').max(50, 'must be 1 to 50').default(20),
        verbose: z.boolean('must be true or false').optional(),
        allow_delegation: z.literal(false, 'can only be false: agents do not delegate').optional(),
      },
      'must be a map of settings',
    ),
    { error: mapOf('agents') },
  )
  .refine((agents) => Object.keys(agents).length > 0, 'has no agent');

/** A MongoDB document holds the outputs of all tasks. */
const MAX_TASKS = 50;

/** `tasks.yaml`, as CrewAI has it; they run in the file's order. */
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
