/** Responses of the crew service. */
import { z } from 'zod';
import { CREW_TASK_STATUSES, CREW_TOOLS, type DeployedCrew, EXECUTION_STATUSES } from '../../domain/crews/crews.js';
import type { CrewExecutionRecord } from '../../storage/crews/executions.js';

const model = z.string().meta({
  description: 'Name of the language model, or of the built-in stand-in that is used without one.',
  example: 'built-in (extractive stand-in)',
});

export const crewsSchema = z.object({
  crews: z.array(
    z
      .object({
        name: z.string(),
        base_path: z.string().meta({ description: 'Prefix of the paths of its routes.' }),
        inputs: z.array(z.string()),
        tasks: z.array(z.object({ task_id: z.string(), agent: z.string(), human_input: z.boolean() })),
        agents: z.array(z.object({ name: z.string(), role: z.string(), tools: z.array(z.enum(CREW_TOOLS)), model })),
        warnings: z
          .array(z.string())
          .meta({ description: "Settings in the crew's files that are not honoured, each with file and line." }),
      })
      .meta({ id: 'Crew' }),
  ),
});

export const inputsSchema = z.object({
  inputs: z.array(z.string()),
  details: z
    .array(
      z.object({
        name: z.string(),
        description: z.string().nullable(),
        default: z.string().nullable().meta({ description: 'Used when a kickoff does not give the input.' }),
      }),
    )
    .optional()
    .meta({ description: 'The inputs that `crew.yaml` describes.' }),
});

/** The inputs of a crew. */
export function describeInputs({ inputs, input_settings }: DeployedCrew) {
  const details = inputs.flatMap((name) => {
    const settings = Object.hasOwn(input_settings, name) ? input_settings[name] : undefined;
    return settings ? [{ name, ...settings }] : [];
  });
  return { inputs, ...(details.length > 0 ? { details } : {}) };
}

export const kickedOffSchema = z.object({ kickoff_id: z.uuid() });

export const statusSchema = z
  .object({
    kickoff_id: z.uuid(),
    execution_id: z.uuid(),
    status: z.enum(EXECUTION_STATUSES),
    current_task: z.string().nullable(),
    progress: z.object({ completed_tasks: z.int(), total_tasks: z.int() }),
    tasks: z.array(
      z
        .object({
          task_id: z.string(),
          name: z.string(),
          agent: z.string(),
          status: z.enum(CREW_TASK_STATUSES),
          output: z.string().optional(),
          attempts: z.int(),
          model: model.optional(),
        })
        .meta({ id: 'CrewTask' }),
    ),
    result: z.string().optional().meta({ description: 'With status `completed`: the output of the last task.' }),
    error: z.string().optional().meta({ description: 'With status `error`: the reason.' }),
    model: model.nullable().meta({ description: 'The models of all tasks so far.' }),
    execution_time: z.number().meta({
      description: 'Seconds from the kickoff to the end, or to now, including the time spent waiting for people.',
    }),
  })
  .meta({ id: 'CrewExecution' });

export const resumedSchema = z.object({ status: z.enum(['resumed', 'retrying', 'completed']), message: z.string() });

/** The status of an execution. */
export function describeExecution(execution: CrewExecutionRecord, now: Date) {
  const { _id, status, tasks, error_message, created_at, finished_at } = execution;
  const current = finished_at === null ? tasks.find((task) => task.status !== 'completed') : undefined;
  const models = [...new Set(tasks.flatMap(({ model }) => (model === null ? [] : [model])))];
  return {
    kickoff_id: _id,
    execution_id: _id,
    status,
    current_task: current?.task_id ?? null,
    progress: {
      completed_tasks: tasks.filter((task) => task.status === 'completed').length,
      total_tasks: tasks.length,
    },
    tasks: tasks.map(({ task_id, agent, status, output, attempts, model }) => ({
      task_id,
      name: task_id,
      agent,
      status,
      ...(output === null ? {} : { output }),
      attempts,
      ...(model === null ? {} : { model }),
    })),
    ...(status === 'completed' ? { result: tasks.at(-1)!.output ?? '' } : {}),
    ...(error_message === null ? {} : { error: error_message }),
    model: models.join(', ') || null,
    execution_time: ((finished_at ?? now).getTime() - created_at.getTime()) / 1000,
  };
}
