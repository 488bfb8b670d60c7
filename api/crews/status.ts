import type { CrewExecutionRecord } from '../../storage/records/crew-executions.js';

/** An execution as its status shows it. `execution_time` is in seconds from kickoff to the end, or to now, waiting for people included. */
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
