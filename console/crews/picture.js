import { CREW_TASK_STATUS_TABLE } from 'domain/crews/states.js';
import { changesOf, useChanging } from '../changes.js';
import { html } from '../html.js';
import { labelOf } from '../ui.js';

/**
 * @typedef {object} Task
 * @property {string} task_id
 * @property {string} agent
 * @property {boolean} human_input
 * @property {string[]} context
 * @property {boolean} async_execution
 *
 * @typedef {Task & { step: number, lane: number }} PlacedTask tasks of a step run at the same time, in its lanes
 * @typedef {{ from: string, to: string }} Edge a task receives the output of another
 * @typedef {{ x: number, y: number }} Place
 */

const WIDTH = 190;
const HEIGHT = 62;
const GAP = 46;
const LANE_GAP = 16;
const MARGIN = 4;
const NAME_CHARACTERS = 22;

/** Steps go down on a narrow screen, and to the right on a wide one. */
const narrow = matchMedia('(width < 900px)');

/**
 * The tasks of a crew in their order, with what each receives; in an execution also with their states.
 * @param {{ tasks: Task[], states?: Record<string, import('domain/crews/states.js').CrewTaskStatus> }} props
 */
export function CrewPicture({ tasks, states }) {
  const isNarrow = useChanging(changesOf(narrow, 'change'), () => narrow.matches);
  const plan = planOf(tasks);
  /** @param {PlacedTask} task @returns {Place} */
  const placeOf = ({ step, lane }) =>
    isNarrow
      ? { x: MARGIN + lane * (WIDTH + LANE_GAP), y: MARGIN + step * (HEIGHT + GAP) }
      : { x: MARGIN + step * (WIDTH + GAP), y: MARGIN + lane * (HEIGHT + LANE_GAP) };
  const places = new Map(plan.tasks.map((task) => [task.task_id, placeOf(task)]));
  const width = Math.max(...[...places.values()].map(({ x }) => x)) + WIDTH + MARGIN;
  const height = Math.max(...[...places.values()].map(({ y }) => y)) + HEIGHT + MARGIN;
  const words = plan.tasks.map((task) => inWords(task, states?.[task.task_id])).join('. ');
  return html`
    <div class="crew-picture" tabindex="0" role="region" aria-label=${states ? 'States of the tasks' : 'Order of the tasks'}>
      <svg width=${width} height=${height} viewBox=${`0 0 ${width} ${height}`} role="img" aria-label=${words}>
        <defs>
          <marker id="crew-arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto"><path d="M0 0 8 4 0 8z" /></marker>
        </defs>
        ${plan.edges.map(({ from, to }) => {
          const [start, end] = [places.get(from), places.get(to)];
          return (
            start &&
            end &&
            html`<path class="crew-edge" d=${curve(start, end, isNarrow)} marker-end="url(#crew-arrow)" />`
          );
        })}
        ${plan.tasks.map((task) => html`<${TaskBox} task=${task} at=${places.get(task.task_id)} state=${states?.[task.task_id]} />`)}
      </svg>
    </div>
  `;
}

/** @param {{ task: PlacedTask, at: Place, state: import('domain/crews/states.js').CrewTaskStatus | undefined }} props */
function TaskBox({ task, at, state }) {
  const row = CREW_TASK_STATUS_TABLE[/** @type {keyof typeof CREW_TASK_STATUS_TABLE} */ (state)];
  const note = state
    ? labelOf(CREW_TASK_STATUS_TABLE, state)
    : [task.human_input && 'a person decides', task.async_execution && 'runs beside others'].filter(Boolean).join(', ');
  return html`
    <g class="crew-task ${row?.tone ?? ''} ${task.human_input ? 'human' : ''}" transform=${`translate(${at.x} ${at.y})`}>
      <rect width=${WIDTH} height=${HEIGHT} rx="9" />
      <title>${inWords(task, state)}</title>
      <text x="14" y="20" class="name">${clipped(task.task_id.replaceAll('_', ' '))}</text>
      <text x="14" y="36">${clipped(task.agent.replaceAll('_', ' '))}</text>
      <text x="14" y="52" class="note">${note}</text>
    </g>
  `;
}

/** From the end of one box to the start of another. @param {Place} from @param {Place} to @param {boolean} isDown */
function curve(from, to, isDown) {
  const start = isDown ? { x: from.x + WIDTH / 2, y: from.y + HEIGHT } : { x: from.x + WIDTH, y: from.y + HEIGHT / 2 };
  const end = isDown ? { x: to.x + WIDTH / 2, y: to.y } : { x: to.x, y: to.y + HEIGHT / 2 };
  const half = GAP / 2;
  return isDown
    ? `M${start.x} ${start.y}C${start.x} ${start.y + half} ${end.x} ${end.y - half} ${end.x} ${end.y}`
    : `M${start.x} ${start.y}C${start.x + half} ${start.y} ${end.x - half} ${end.y} ${end.x} ${end.y}`;
}

/** @param {PlacedTask} task @param {import('domain/crews/states.js').CrewTaskStatus | undefined} state */
function inWords({ task_id, agent, human_input, context }, state) {
  const parts = [
    `${task_id}, by ${agent}`,
    context.length > 0 && `receives ${context.join(' and ')}`,
    human_input && 'a person decides on its output',
    state && labelOf(CREW_TASK_STATUS_TABLE, state),
  ];
  return parts.filter(Boolean).join(', ');
}

/** @param {string} text */
const clipped = (text) => (text.length > NAME_CHARACTERS ? `${text.slice(0, NAME_CHARACTERS - 1)}…` : text);

/**
 * A task starts when the one before it has ended. An async task is waited for only by tasks that receive its output.
 * @param {Task[]} tasks in their order
 * @returns {{ tasks: PlacedTask[], edges: Edge[] }}
 */
function planOf(tasks) {
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
