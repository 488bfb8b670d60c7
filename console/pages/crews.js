import { CREW_TASK_STATUS_TABLE, EXECUTION_STATUS_TABLE } from 'domain/crews/states.js';
import { isFinalState } from 'domain/state-machine.js';
import { useState } from 'preact/hooks';
import { call, withQuery } from '../api.js';
import { duration, plural } from '../format.js';
import { html } from '../html.js';
import { Icon } from '../icons.js';
import { useLive } from '../live.js';
import { change, linkTo } from '../router.js';
import { isUserKey, session } from '../session.js';
import * as ui from '../ui.js';

/** @typedef {import('../api.js').Schemas} Schemas */

const KICKOFF = `./postback crews kickoff support-reply \\
  --input customer_message="Where is my parcel?" --input notes="Parcels take two days."`;

/** @param {{ parameters: Record<string, string> }} props */
export function Crews({ parameters }) {
  const waiting = useLive((signal) => call('GET', '/crews/waiting?limit=50', { as: 'crew', signal }), [], 3_000);
  /** @type {Schemas['WaitingOutput'][] | undefined} */
  const outputs = waiting.data?.waiting;
  const [decided, setDecided] = useState('');
  /** @param {string} message */
  const onDecided = (message) => {
    setDecided(message);
    return waiting.refresh();
  };
  return html`
    <${ui.Page} title="Crews" lead="Outputs that wait for your decision. The longest wait is first.">
      <${ui.Problem} error=${waiting.error} retry=${waiting.refresh} />
      <p class="muted" role="status">${decided}</p>
      ${!outputs && !waiting.error && html`<${ui.Loading} />`}
      ${
        outputs &&
        (outputs.length === 0
          ? html`
            <${ui.Empty} title="Nothing waits for you.">
              <p>A crew waits here when one of its tasks has <code>human_input: true</code>. Start one:</p>
              <${ui.Command}>${KICKOFF}</${ui.Command}>
            </${ui.Empty}>
          `
          : outputs.map(
              (
                output,
              ) => html`<${Waiting} key=${`${output.execution_id} ${output.task_id} ${output.attempt}`} output=${output}
              onDecided=${onDecided} />`,
            ))
      }
      ${!isUserKey(session.key('crew')) && html`<${Executions} parameters=${parameters} />`}
    </${ui.Page}>
  `;
}

/** Callbacks of the execution that a decision can have, with the names of the API. */
const CALLBACKS = [
  ['taskWebhookUrl', 'When a task ends'],
  ['stepWebhookUrl', 'After each step'],
  ['crewWebhookUrl', 'When the crew ends'],
];

/** @param {{ output: Schemas['WaitingOutput'], onDecided: (message: string) => Promise<void> }} props */
function Waiting({ output, onDecided }) {
  const { crew, execution_id, task_id, agent, attempt, waiting_since, deadline } = output;
  const [feedback, setFeedback] = useState('');
  // The receivers so far, which a decision ends unless it names them again.
  const [urls, setUrls] = useState(
    /** @type {Record<string, string>} */ (
      Object.fromEntries(
        CALLBACKS.map(([name]) => [name, /** @type {any} */ (output)[/** @type {string} */ (name)] ?? '']),
      )
    ),
  );
  const [error, setError] = useState(/** @type {Error | undefined} */ (undefined));
  /** @param {boolean} is_approve */
  const decide = async (is_approve) => {
    if (!is_approve && !feedback.trim()) {
      setError(new Error('Say what should change: the agent gets your words.'));
      return;
    }
    setError(undefined);
    const given = Object.fromEntries(Object.entries(urls).filter(([, url]) => url.trim()));
    const body = { execution_id, task_id, is_approve, human_feedback: feedback.trim() || 'Approved.', ...given };
    try {
      const { message, warning } = await call('POST', `/crews/${encodeURIComponent(crew)}/resume`, {
        body,
        as: 'crew',
      });
      await onDecided(`${crew}, ${task_id}: ${message}${warning ? ` ${warning}` : ''}`);
    } catch (fault) {
      setError(/** @type {Error} */ (fault));
    }
  };
  return html`
    <section class="card waiting" aria-label=${`${crew}, ${task_id}`}>
      <header>
        <h2>${crew} › ${task_id.replaceAll('_', ' ')}</h2>
        <span class="muted">by ${agent}, attempt ${attempt}, waiting since <${ui.Time} at=${waiting_since} />${deadline && html`, due <${ui.Time} at=${deadline} />`}</span>
        <${ui.WorkflowLink} attributes=${{ WorkflowId: `crew/${execution_id}` }} />
      </header>
      <${ui.Block} label="Output">${output.output}</${ui.Block}>
      <label class="field"><span>Feedback</span>
        <textarea rows="2" maxlength="20000" value=${feedback} placeholder="What should change, if you reject it"
          onInput=${(/** @type {any} */ event) => setFeedback(event.target.value)}></textarea>
      </label>
      <details open=${Object.values(urls).some((url) => url !== '')}>
        <summary>Callbacks after this decision</summary>
        <p class="muted">These addresses are called from now on. An empty field ends its callbacks.</p>
        <div class="filters">
          ${CALLBACKS.map(
            ([name, label]) => html`
              <label class="field"><span>${label}</span>
                <input type="url" placeholder="https://" value=${urls[/** @type {string} */ (name)] ?? ''}
                  onInput=${(/** @type {any} */ event) => setUrls({ ...urls, [/** @type {string} */ (name)]: event.target.value })} />
              </label>
            `,
          )}
        </div>
      </details>
      ${
        output.review_url &&
        html`
          <details>
            <summary>Review link, for somebody without a key</summary>
            <p class="muted">It shows this output only, and takes one decision. Who has the link can decide.</p>
            <${ui.Command}>${output.review_url}</${ui.Command}>
          </details>
        `
      }
      <${ui.Problem} error=${error} />
      <div class="decision">
        <${ui.ActionButton} className="primary" run=${() => decide(true)}><${Icon} name="check" />Approve</${ui.ActionButton}>
        <${ui.ActionButton} run=${() => decide(false)}><${Icon} name="retry" />Reject with feedback</${ui.ActionButton}>
      </div>
    </section>
  `;
}

/** Crews whose executions are listed together, and how many of each. */
const MAX_CREWS = 10;
const EXECUTIONS = 20;

/** @typedef {Schemas['CrewExecutionSummary'] & { crew: string }} Execution */

/** The executions of all crews, or of one: for keys of the organisation. @param {{ parameters: Record<string, string> }} props */
function Executions({ parameters: { crew = '', run, id } }) {
  const crews = useLive((signal) => call('GET', '/crews', { as: 'crew', signal }), [], 60_000);
  /** @type {string[] | undefined} */
  const names = crews.data?.crews.map((/** @type {Schemas['Crew']} */ { name }) => name);
  if (!names?.length) return html`<${ui.Problem} error=${crews.error} />`;
  const options = [['', 'All crews'], ...names.map((name) => [name, name])];
  return html`
    <section aria-label="Executions of crews">
      <div class="section-head">
        <h2>Executions</h2>
        <${ui.Select} label="Crew" value=${crew} options=${options} onChange=${(/** @type {string} */ value) => change({ crew: value, run: '', id: '' })} />
      </div>
      <${ExecutionList} crew=${crew} names=${crew ? [crew] : names.slice(0, MAX_CREWS)} id=${id} />
      ${id && run && html`<${ExecutionDrawer} key=${id} crew=${run} id=${id} />`}
    </section>
  `;
}

/** @param {{ crew: string, names: string[], id: string | undefined }} props */
function ExecutionList({ crew, names, id }) {
  const list = useLive((signal) => loadExecutions(names, signal), [names], 5_000);
  /** @type {import('../ui.js').Column<Execution>[]} */
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
        ? html`<${ui.Empty} title=${crew ? 'This crew has not run yet.' : 'No crew has run yet.'}>${crew ? html`<${ui.Command}>${`./postback crews kickoff ${crew}`}</${ui.Command}>` : 'Each execution is listed here with its tasks and their outputs.'}</${ui.Empty}>`
        : html`
          <${ui.Table} label="Executions" columns=${columns} rows=${list.data} open=${id}
            keyOf=${(/** @type {Execution} */ { execution_id }) => execution_id}
            hrefOf=${(/** @type {Execution} */ each) => linkTo('crews', { crew, run: each.crew, id: each.execution_id })} />
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

/** @param {{ crew: string, id: string }} props */
function ExecutionDrawer({ crew, id }) {
  const path = `/crews/${encodeURIComponent(crew)}/${encodeURIComponent(id)}/status`;
  const execution = useLive(
    async (signal) => /** @type {Schemas['CrewExecution']} */ (await call('GET', path, { as: 'crew', signal })),
    [path],
    (data) => (data && isFinalState(EXECUTION_STATUS_TABLE, data.status) ? 0 : 2_000),
  );
  const { data } = execution;
  return html`
    <${ui.Drawer} name="Execution" title=${crew} onClose=${() => change({ run: '', id: '' })} actions=${html`<${ui.WorkflowLink} attributes=${{ WorkflowId: `crew/${id}` }} />`}>
      <${ui.Problem} error=${execution.error} />
      ${!data && !execution.error && html`<${ui.Loading} />`}
      ${
        data &&
        html`
          ${data.error && html`<div class="problem tall" role="alert"><span>${data.error}</span></div>`}
          <${ui.Facts} entries=${[
            ['State', html`<${ui.State} of=${EXECUTION_STATUS_TABLE} state=${data.status} />`],
            ['Model', data.model],
            ['Time', duration(data.execution_time * 1000)],
            ['Execution', html`<code>${id}</code>`],
          ]} />
          <h3>Tasks</h3>
          <ol class="timeline">
            ${data.tasks.map(
              (task) => html`
                <li key=${task.task_id}>
                  <div class="timeline-head"><strong>${task.name.replaceAll('_', ' ')}</strong><${ui.State} of=${CREW_TASK_STATUS_TABLE} state=${task.status} />
                    <span class="muted">${task.agent}, ${plural(task.attempts, 'attempt')}</span></div>
                  ${task.output && html`<details><summary>Output</summary><${ui.Block} label="Output">${task.output}</${ui.Block}></details>`}
                </li>
              `,
            )}
          </ol>
        `
      }
    </${ui.Drawer}>
  `;
}
