import { CREW_TASK_STATUS_TABLE, EXECUTION_STATUS_TABLE } from 'domain/crews/states.js';
import { isFinalState } from 'domain/state-machine.js';
import { call, withQuery } from '../api.js';
import { duration, plural } from '../format.js';
import { html } from '../html.js';
import { Table } from '../list.js';
import { useAction, useGet, useLive } from '../live.js';
import { isUserKey, session } from '../session.js';
import * as ui from '../ui.js';
import { CrewPicture } from './picture.js';
import { decisionInWords, Waiting } from './waiting.js';

/** @typedef {import('../api.js').Schemas} Schemas */
/** @typedef {Schemas['CrewExecutionSummary'] & { crew: string }} Execution */

/** @typedef {{ type: 'thought', text: string, actions?: { tool: string, input: object }[] } | { type: 'action', tool: string, input: object, ok: boolean, result: string }} Step */

const EXECUTIONS = 20;

/** The newest executions of some crews. @param {{ crews: string[], of: string, id: string | undefined }} props `of`: the crew of the page, empty for all */
export function ExecutionList({ crews, of, id }) {
  const list = useLive((signal) => loadExecutions(crews, signal), [crews], 5_000);
  /** @type {import('../list.js').Column<Execution>[]} */
  const columns = [
    { title: 'Execution', cell: (each) => html`${each.crew}<small>${each.execution_id}</small>` },
    { title: 'State', cell: ({ status }) => html`<${ui.State} of=${EXECUTION_STATUS_TABLE} state=${status} />` },
    {
      title: 'Task',
      className: 'wide',
      cell: ({ current_task, progress }) =>
        `${current_task?.replaceAll('_', ' ') ?? 'all'} (${progress.completed_tasks} of ${progress.total_tasks} done)`,
    },
    { title: 'Time', className: 'number wide', cell: ({ execution_time }) => duration(execution_time * 1000) },
    { title: 'Started', className: 'number', cell: ({ created_at }) => html`<${ui.Time} at=${created_at} />` },
  ];
  return html`
    <${ui.Problem} error=${list.error} retry=${list.refresh} />
    ${
      list.data &&
      (list.data.length === 0
        ? html`<${ui.Empty} title=${of ? 'This crew has not run yet.' : 'No crew has run yet.'}>Each execution is listed here with its tasks and their outputs.</${ui.Empty}>`
        : html`
          <${Table} label="Executions" columns=${columns} rows=${list.data} id="execution_id" open=${id}
            with=${(/** @type {Execution} */ { crew }) => ({ run: crew })} />
        `)
    }
  `;
}

/** @param {string[]} names @param {AbortSignal} signal @returns {Promise<Execution[]>} the newest first */
async function loadExecutions(names, signal) {
  const lists = await Promise.all(
    names.map(async (crew) => {
      const path = withQuery(`/crews/${encodeURIComponent(crew)}/executions`, { limit: EXECUTIONS });
      const { executions } = await call('GET', path, { as: 'crew', signal });
      return executions.map((/** @type {Schemas['CrewExecutionSummary']} */ execution) => ({ ...execution, crew }));
    }),
  );
  return lists
    .flat()
    .sort((a, b) => b.created_at.localeCompare(a.created_at))
    .slice(0, EXECUTIONS);
}

/**
 * An execution as it happens.
 * @param {{ crew: string, id: string, plan: Schemas['Crew']['tasks'] | undefined, waiting: Schemas['WaitingOutput'][] | undefined, onDecide: Parameters<typeof Waiting>[0]['onDecide'] }} props
 *   `plan`: the tasks of the deployed crew
 */
export function ExecutionDrawer({ crew, id, plan, waiting, onDecide }) {
  const path = `/crews/${encodeURIComponent(crew)}/${encodeURIComponent(id)}`;
  /** @type {import('../live.js').Live<Schemas['CrewExecution']>} */
  const execution = useGet(`${path}/status`, intervalOf, 'crew');
  const cancel = useAction(() => call('POST', `${path}/cancel`, { as: 'crew' }), execution.refresh);
  const { data } = execution;
  const canCancel = data && !isFinalState(EXECUTION_STATUS_TABLE, data.status) && !isUserKey(session.key('crew'));
  const actions = html`
    <${ui.WorkflowLink} attributes=${{ WorkflowId: `crew/${id}` }} />
    ${canCancel && html`<${ui.ActionButton} run=${cancel.run}>Cancel</${ui.ActionButton}>`}
  `;
  const output = waiting?.find(({ execution_id }) => execution_id === id);
  /** @type {typeof onDecide} */
  const decide = (about, decision) => onDecide(about, decision).finally(execution.refresh);
  return html`
    <${ui.Drawer} wide name="Execution" title=${crew} record=${execution} error=${cancel.error} actions=${actions}>
      ${data && html`<${ExecutionDetails} id=${id} path=${path} execution=${data} plan=${plan} />`}
      ${output && html`<${Waiting} key=${`${output.task_id} ${output.attempt}`} output=${output} onDecide=${decide} />`}
    </${ui.Drawer}>
  `;
}

/** How often an execution is read again: often while it works, seldom while it waits for a person. @param {Schemas['CrewExecution'] | undefined} data */
function intervalOf(data) {
  if (!data) return 750;
  if (isFinalState(EXECUTION_STATUS_TABLE, data.status)) return 0;
  return EXECUTION_STATUS_TABLE[data.status].working ? 750 : 3_000;
}

/** @param {{ id: string, path: string, execution: Schemas['CrewExecution'], plan: Schemas['Crew']['tasks'] | undefined }} props */
function ExecutionDetails({ id, path, execution: { status, error, model, execution_time, tasks, result }, plan }) {
  // An execution keeps the tasks with which it began.
  const isPlanned =
    plan?.length === tasks.length && tasks.every(({ task_id }, index) => plan[index]?.task_id === task_id);
  // Steps are kept until the execution ends. Keys of users may not read them.
  const hasSteps = !isFinalState(EXECUTION_STATUS_TABLE, status) && !isUserKey(session.key('crew'));
  const states = Object.fromEntries(tasks.map(({ task_id, status: state }) => [task_id, state]));
  return html`
    ${error && html`<div class="problem tall" role="alert"><span>${error}</span></div>`}
    ${isPlanned && html`<${CrewPicture} tasks=${plan} states=${states} />`}
    <${ui.Facts} entries=${[
      ['State', html`<${ui.State} of=${EXECUTION_STATUS_TABLE} state=${status} />`],
      ['Model', model],
      ['Time', duration(execution_time * 1000)],
      ['Execution', html`<code>${id}</code>`],
    ]} />
    ${result !== undefined && html`<h3>Result</h3><${ui.Block} label="Result">${result}</${ui.Block}>`}
    <h3>Tasks</h3>
    <ol class="timeline">
      ${tasks.map(
        (task) => html`
          <li key=${task.task_id} class=${CREW_TASK_STATUS_TABLE[task.status].tone}>
            <div class="timeline-head"><strong>${task.name.replaceAll('_', ' ')}</strong><${ui.State} of=${CREW_TASK_STATUS_TABLE} state=${task.status} />
              <span class="muted">${task.agent}${task.attempts > 0 && `, ${plural(task.attempts, 'attempt')}`}</span></div>
            ${task.decision && html`<span class="muted">${decisionInWords(task.decision)} <${ui.Time} at=${task.decision.decided_at} /></span>`}
            ${hasSteps && task.attempts > 0 && html`<${Steps} key=${task.attempts} path=${path} task=${task.task_id} isWorking=${CREW_TASK_STATUS_TABLE[task.status].working} />`}
            ${task.output && html`<details><summary>Output</summary><${ui.Block} label="Output">${task.output}</${ui.Block}></details>`}
          </li>
        `,
      )}
    </ol>
  `;
}

/** What an agent thinks and does in its attempt at a task, as it happens. @param {{ path: string, task: string, isWorking: boolean }} props */
function Steps({ path, task, isWorking }) {
  const { data } = useLive(
    async (signal) => {
      const { steps } = await call('GET', `${path}/tasks/${encodeURIComponent(task)}/steps`, { as: 'crew', signal });
      return /** @type {Step[]} */ (steps);
    },
    [path, task, isWorking],
    isWorking ? 750 : 0,
  );
  if (!data || data.length === 0) return null;
  return html`
    <details open=${isWorking}>
      <summary>${plural(data.length, 'step')}</summary>
      <ol class="crew-steps">
        ${data.map((step) => html`<li>${step.type === 'thought' ? html`<${Thought} step=${step} />` : html`<${ToolUse} step=${step} />`}</li>`)}
      </ol>
    </details>
  `;
}

/** @param {{ step: Extract<Step, { type: 'thought' }> }} props */
const Thought = ({ step: { text, actions = [] } }) => html`
  ${text && html`<p>${text}</p>`}
  ${actions.length > 0 && html`<p class="muted">asks for ${actions.map(({ tool }) => tool).join(', ')}</p>`}
`;

/** @param {{ step: Extract<Step, { type: 'action' }> }} props */
const ToolUse = ({ step: { tool, input, ok, result } }) => html`
  <p><${ui.Tag} tone=${ok ? 'good' : 'bad'}>${tool}</${ui.Tag}> <code>${JSON.stringify(input)}</code></p>
  <details><summary>${ok ? 'Result' : 'Error'}</summary><${ui.Block} label="Result">${result}</${ui.Block}></details>
`;
