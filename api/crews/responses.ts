/** Responses of the crew service. */
import { z } from 'zod';
import { type DeployedCrew, EXECUTION_ERROR_CODES, webhookFieldsOf } from '../../domain/crews/crews.js';
import { DECIDER_KINDS } from '../../domain/crews/decisions.js';
import { type AgentStep, describeStep } from '../../domain/crews/language-model.js';
import { reviewUrl } from '../../domain/crews/review-links.js';
import { CREW_TASK_STATUSES, EXECUTION_STATUSES } from '../../domain/crews/states.js';
import { type CrewExecutionRecord, type CrewTaskRecord, deadlineOf } from '../../storage/crews/execution-record.js';
import { listSchema } from '../pagination.js';
import { pickFields } from '../pick-fields.js';

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
        tasks: z
          .array(
            z.object({
              task_id: z.string(),
              agent: z.string(),
              human_input: z.boolean(),
              context: z
                .array(z.string())
                .meta({ description: 'The earlier tasks whose outputs it receives, by their ids.' }),
              async_execution: z
                .boolean()
                .meta({ description: 'Whether later tasks that do not need its output run beside it.' }),
            }),
          )
          .meta({ description: 'In the order in which they start.' }),
        agents: z.array(z.object({ name: z.string(), role: z.string(), tools: z.array(z.string()), model })),
        warnings: z
          .array(z.string())
          .meta({ description: "Settings in the crew's files that are not honoured, each with file and line." }),
      })
      .meta({ id: 'Crew' }),
  ),
  invalid: z
    .array(
      z.object({
        name: z.string(),
        problems: z.array(z.string()).meta({ description: 'Each with file and line.' }),
      }),
    )
    .meta({ description: 'Crews that cannot run, because their files have mistakes.' }),
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

export const kickedOffSchema = z.object({
  kickoff_id: z.uuid(),
  execution_id: z.uuid().meta({ description: 'The same id.' }),
});

const time = z.iso.datetime();
const execution = {
  kickoff_id: z.uuid(),
  execution_id: z.uuid(),
  status: z.enum(EXECUTION_STATUSES),
  current_task: z.string().nullable(),
  progress: z.object({ completed_tasks: z.int(), total_tasks: z.int() }),
};
const review = {
  waiting_since: time.optional().meta({ description: 'While a task waits for a person.' }),
  deadline: time.optional().meta({ description: 'When a decision is due, if `crew.yaml` has a deadline.' }),
};
const reviewLink = {
  review_url: z
    .string()
    .optional()
    .meta({
      description:
        'While an output waits: a page where a person without a key reads it and decides. The link is a secret. It ends with the ' +
        'decision, the deadline, and `DELETE …/review-links`. Absent without `POSTBACK_PUBLIC_URL`.',
    }),
};
const callbacks = {
  taskWebhookUrl: z.string().optional().meta({
    description: 'A receiver of the callbacks so far. A decision ends it, unless the decision names it again.',
  }),
  stepWebhookUrl: z.string().optional(),
  crewWebhookUrl: z.string().optional(),
  webhookHeaderNames: z
    .array(z.string())
    .optional()
    .meta({ description: 'The names of the static headers of the callbacks, whose values are not shown.' }),
};
const decisionSchema = z
  .object({
    attempt: z.int().meta({ description: 'The attempt whose output it was.' }),
    is_approve: z.boolean(),
    decided_at: time,
    decided_by: z
      .object({
        kind: z.enum(DECIDER_KINDS).meta({
          description: '`deadline`: nobody decided in time, and `crew.yaml` says what then happens.',
        }),
        key_id: z.string().optional().meta({ description: 'Of a key.' }),
        label: z.string().optional().meta({ description: 'Of a key: its label.' }),
      })
      .optional()
      .meta({ description: 'Absent for decisions of earlier releases.' }),
  })
  .meta({ id: 'CrewDecision' });
const errorCode = z.enum(EXECUTION_ERROR_CODES).optional();

const taskSchema = z
  .object({
    task_id: z.string(),
    name: z.string(),
    agent: z.string(),
    status: z.enum(CREW_TASK_STATUSES),
    output: z.string().optional(),
    attempts: z.int(),
    model: model.optional(),
    decision: decisionSchema.optional().meta({ description: 'The latest decision on an output of the task.' }),
  })
  .meta({ id: 'CrewTask' });

export const statusSchema = z
  .object({
    ...execution,
    tasks: z.array(taskSchema),
    result: z.string().optional().meta({ description: 'With status `completed`: the output of the last task.' }),
    error: z.string().optional().meta({ description: 'With status `error`: the reason.' }),
    error_code: errorCode,
    ...review,
    ...reviewLink,
    ...callbacks,
    model: model.nullable().meta({ description: 'The models of all tasks so far.' }),
    execution_time: z.number().meta({
      description: 'Seconds from the kickoff to the end, or to now, including the time spent waiting for people.',
    }),
  })
  .meta({ id: 'CrewExecution' });

/** The output of a step: a thought, or the use of a tool. */
export const stepSchema = z.union([
  z.object({
    type: z.literal('thought'),
    text: z.string(),
    actions: z.array(z.object({ tool: z.string(), input: z.record(z.string(), z.unknown()) })).optional(),
  }),
  z.object({
    type: z.literal('action'),
    tool: z.string(),
    input: z.record(z.string(), z.unknown()),
    ok: z.boolean(),
    result: z.string(),
  }),
]);

export const stepsSchema = z.object({
  task_id: z.string(),
  attempt: z.int(),
  steps: z.array(stepSchema),
});

/** Characters of a tool's result that a list of steps shows. */
const MAX_RESULT = 2_000;

/** A step as its callback reports it, with a short result. */
export function describeListedStep(step: AgentStep): z.input<typeof stepSchema> {
  const described = describeStep(step);
  if (described.type === 'thought' || described.result.length <= MAX_RESULT) return described;
  return { ...described, result: `${described.result.slice(0, MAX_RESULT)}…` };
}

export const resumedSchema = z.object({
  status: z.enum(['resumed', 'retrying', 'completed']),
  message: z.string(),
  warning: z.string().optional().meta({ description: 'Names the URLs that get no more callbacks.' }),
});

export const cancelledSchema = z.object({
  kickoff_id: z.uuid(),
  execution_id: z.uuid(),
  status: z.literal('cancelling'),
  message: z.string(),
});

const executionSummarySchema = z
  .object({
    ...execution,
    error: z.string().optional(),
    error_code: errorCode,
    ...review,
    created_at: time,
    finished_at: time.nullable(),
    execution_time: z.number(),
  })
  .meta({ id: 'CrewExecutionSummary' });

export const executionListSchema = listSchema('executions', executionSummarySchema, 'Newest first.');

const waitingSchema = z
  .object({
    crew: z.string(),
    execution_id: z.uuid(),
    task_id: z.string(),
    agent: z.string(),
    attempt: z.int(),
    output: z.string(),
    ...review,
    ...reviewLink,
    ...callbacks,
  })
  .meta({ id: 'WaitingOutput' });

export const waitingListSchema = listSchema('waiting', waitingSchema, 'The longest wait first.');

/** The receivers, as far as they are shown. */
function describeReceivers({ urls, headers }: CrewExecutionRecord) {
  return { ...webhookFieldsOf(urls), ...(headers ? { webhookHeaderNames: headers.names } : {}) };
}

/** What the responses about an execution have in common. */
function describeProgress(execution: CrewExecutionRecord) {
  const { _id, tasks, finished_at, error_message, error_code, waiting_since } = execution;
  const unfinished = finished_at === null ? tasks.filter((task) => task.status !== 'completed') : [];
  // Tasks can run beside the one that waits.
  const current = unfinished.find((task) => task.status === 'pending_human_input') ?? unfinished[0];
  const completed_tasks = tasks.filter((task) => task.status === 'completed').length;
  return {
    ...execution,
    kickoff_id: _id,
    execution_id: _id,
    current_task: current?.task_id ?? null,
    progress: { completed_tasks, total_tasks: tasks.length },
    error: error_message ?? undefined,
    error_code: error_code ?? undefined,
    waiting_since: waiting_since ?? undefined,
    deadline: deadlineOf(execution) ?? undefined,
  };
}

/** Seconds, with the time spent waiting for people. */
function secondsOf({ created_at, finished_at }: CrewExecutionRecord, now: Date): number {
  return ((finished_at ?? now).getTime() - created_at.getTime()) / 1000;
}

/** An execution in a list. */
export function describeListed(execution: CrewExecutionRecord, now: Date) {
  const execution_time = secondsOf(execution, now);
  return pickFields(executionSummarySchema, { ...describeProgress(execution), execution_time });
}

/** The outputs of an execution that wait for a person: one, at most. */
export function describeWaiting(execution: CrewExecutionRecord, publicUrl: string | null) {
  const of = { ...describeProgress(execution), ...describeReceivers(execution) };
  return execution.tasks
    .filter(({ status }) => status === 'pending_human_input')
    .map(({ task_id, agent, attempts: attempt, output }) => {
      const review_url = reviewUrl(publicUrl, execution, task_id);
      return pickFields(waitingSchema, { ...of, task_id, agent, attempt, output: output ?? '', review_url });
    });
}

function describeTask(task: CrewTaskRecord) {
  return pickFields(taskSchema, {
    ...task,
    name: task.task_id,
    output: task.output ?? undefined,
    model: task.model ?? undefined,
    decision: task.decision && pickFields(decisionSchema, task.decision),
  });
}

/** The status of an execution. */
export function describeExecution(execution: CrewExecutionRecord, now: Date, publicUrl: string | null) {
  const { status, tasks } = execution;
  const waiting = tasks.find((task) => task.status === 'pending_human_input');
  const models = [...new Set(tasks.flatMap(({ model }) => (model === null ? [] : [model])))];
  return pickFields(statusSchema, {
    ...describeProgress(execution),
    ...describeReceivers(execution),
    tasks: tasks.map(describeTask),
    result: status === 'completed' ? (tasks.at(-1)!.output ?? '') : undefined,
    review_url: waiting && reviewUrl(publicUrl, execution, waiting.task_id),
    model: models.join(', ') || null,
    execution_time: secondsOf(execution, now),
  });
}

/** What a review page shows. */
export const reviewSchema = z
  .object({
    state: z.enum(['waiting', 'approved', 'rejected', 'over']).meta({
      description: '`over`: the deadline has passed, or the execution has ended.',
    }),
    crew: z.string(),
    task_id: z.string(),
    output: z.string().optional().meta({ description: 'While it waits.' }),
    deadline: time.optional(),
    decided_at: time.optional(),
    decided_by: z.string().optional().meta({ description: 'In words, such as `by the key "lena"`.' }),
  })
  .meta({ id: 'Review' });

export const revokedSchema = z.object({
  execution_id: z.uuid(),
  ...reviewLink,
  message: z.string(),
});
