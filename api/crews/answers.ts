/** What the crew service answers and sends, as its routes declare it and `/openapi.json` shows it. */
import { z } from 'zod';
import { CREW_TASK_STATUSES, CREW_TOOLS, EXECUTION_STATUSES } from '../../domain/crews.js';

const model = z.string().meta({
  description: 'Says so where it is none but the built-in stand-in.',
  example: 'built-in (extractive stand-in)',
});

export const crewsSchema = z.object({
  crews: z.array(
    z.object({
      name: z.string(),
      base_path: z.string().meta({ description: 'What the paths of its own routes begin with.' }),
      inputs: z.array(z.string()),
      tasks: z.array(z.object({ task_id: z.string(), agent: z.string(), human_input: z.boolean() })),
      agents: z.array(z.object({ name: z.string(), role: z.string(), tools: z.array(z.enum(CREW_TOOLS)), model })),
    }),
  ),
});

export const inputsSchema = z.object({ inputs: z.array(z.string()) });

export const kickedOffSchema = z.object({ kickoff_id: z.uuid() });

export const statusSchema = z.object({
  kickoff_id: z.uuid(),
  execution_id: z.uuid(),
  status: z.enum(EXECUTION_STATUSES),
  current_task: z.string().nullable(),
  progress: z.object({ completed_tasks: z.int(), total_tasks: z.int() }),
  tasks: z.array(
    z.object({
      task_id: z.string(),
      name: z.string(),
      agent: z.string(),
      status: z.enum(CREW_TASK_STATUSES),
      output: z.string().optional(),
      attempts: z.int(),
      model: model.optional(),
    }),
  ),
  result: z.string().optional().meta({ description: 'With `completed`: the output of the last task.' }),
  error: z.string().optional().meta({ description: 'With `error`: why.' }),
  model: model.nullable().meta({ description: 'Of all tasks so far.' }),
  execution_time: z
    .number()
    .meta({ description: 'Seconds since the kickoff, until the end; waiting for people included.' }),
});

export const resumedSchema = z.object({ status: z.enum(['resumed', 'retrying', 'completed']), message: z.string() });
