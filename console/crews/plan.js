/**
 * Where the tasks of a crew stand in its picture.
 *
 * @typedef {object} Task
 * @property {string} task_id
 * @property {string} agent
 * @property {boolean} human_input
 * @property {string[]} context
 * @property {boolean} async_execution
 *
 * @typedef {Task & { step: number, lane: number }} PlacedTask tasks of a step run at the same time, in its lanes
 * @typedef {{ from: string, to: string }} Edge a task receives the output of another
 */

/**
 * A task starts when the one before it has ended. An async task is waited for only by tasks that receive its output.
 * @param {Task[]} tasks in their order
 * @returns {{ tasks: PlacedTask[], edges: Edge[] }}
 */
export function planOf(tasks) {
  /** @type {PlacedTask[]} */
  const placed = [];
  for (const task of tasks) {
    const step = Math.max(
      0,
      ...placed.map(
        (before) => before.step + (before.async_execution && !task.context.includes(before.task_id) ? 0 : 1),
      ),
    );
    placed.push({ ...task, step, lane: placed.filter((other) => other.step === step).length });
  }
  return { tasks: placed, edges: edgesOf(tasks) };
}

/** What tasks receive, without what they have received already through another task. @param {Task[]} tasks @returns {Edge[]} */
function edgesOf(tasks) {
  /** Everything that is in the output of a task. @type {Map<string, Set<string>>} */
  const within = new Map();
  for (const { task_id, context } of tasks) {
    within.set(task_id, new Set(context.flatMap((name) => [name, ...(within.get(name) ?? [])])));
  }
  return tasks.flatMap(({ task_id, context }) =>
    context
      .filter((name) => !context.some((other) => other !== name && within.get(other)?.has(name)))
      .map((from) => ({ from, to: task_id })),
  );
}
