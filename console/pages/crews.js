import { useState } from 'preact/hooks';
import { call } from '../api.js';
import { ExecutionDrawer, ExecutionList } from '../crews/executions.js';
import { CrewKeys } from '../crews/keys.js';
import { Kickoff } from '../crews/kickoff.js';
import { CrewPicture } from '../crews/picture.js';
import { useDecisionsOfOthers, Waiting } from '../crews/waiting.js';
import { plural } from '../format.js';
import { html } from '../html.js';
import { useGet, useLive } from '../live.js';
import { linkTo, useFocusOnTitle } from '../router.js';
import { isUserKey, session } from '../session.js';
import { SigningSecret } from '../signing-secret.js';
import * as ui from '../ui.js';

/** @typedef {import('../api.js').Schemas} Schemas */
/** @typedef {{ crews: Schemas['Crew'][], invalid: { name: string, problems: string[] }[] }} Deployed */

/** Crews whose executions are listed together. */
const MAX_CREWS = 10;

/** All crews, or one of them. @param {{ parameters: Record<string, string> }} props */
export function Crews({ parameters: { crew = '', run, id } }) {
  const waiting = useGet('/crews/waiting?limit=50', 3_000, 'crew');
  // Keys of users may read the outputs that wait, and no list of crews.
  const isUser = isUserKey(session.key('crew'));
  const deployed = useLive(
    async (signal) => (isUser ? null : /** @type {Deployed} */ (await call('GET', '/crews', { as: 'crew', signal }))),
    [isUser],
    60_000,
  );
  const [decided, setDecided] = useState('');
  /** @type {Schemas['WaitingOutput'][] | undefined} */
  const outputs = waiting.data?.waiting.filter(
    (/** @type {Schemas['WaitingOutput']} */ output) => !crew || output.crew === crew,
  );
  const own = useDecisionsOfOthers(waiting.data?.waiting, setDecided);
  /** @type {Parameters<typeof Waiting>[0]['onDecide']} */
  const onDecide = async ({ crew: of, execution_id }, decision) => {
    own.add(execution_id);
    const about = `${of}, ${decision.task_id}`;
    try {
      const path = `/crews/${encodeURIComponent(of)}/resume`;
      const { message, warning } = await call('POST', path, { body: { execution_id, ...decision }, as: 'crew' });
      setDecided(`${about}: ${message}${warning ? ` ${warning}` : ''}`);
    } catch (error) {
      own.delete(execution_id);
      if (/** @type {import('../api.js').ApiError} */ (error).status === 400)
        setDecided(`${about}: ${/** @type {Error} */ (error).message}`);
      throw error;
    } finally {
      await waiting.refresh();
    }
  };
  const found = deployed.data?.crews.find(({ name }) => name === crew);
  const ran = deployed.data?.crews.find(({ name }) => name === run);
  const content = html`
    <${ui.Problem} error=${waiting.error} retry=${waiting.refresh} />
    <${ui.Problem} error=${deployed.error} retry=${deployed.refresh} />
    <p class="muted" role="status">${decided}</p>
    ${
      // The execution beside the page has its own.
      outputs
        ?.filter(({ execution_id }) => execution_id !== id)
        .map(
          (output) =>
            html`<${Waiting} key=${`${output.execution_id} ${output.task_id} ${output.attempt}`} output=${output} onDecide=${onDecide} />`,
        )
    }
    ${id && run && html`<${ExecutionDrawer} key=${id} crew=${run} id=${id} plan=${ran?.tasks} waiting=${outputs} onDecide=${onDecide} />`}
  `;
  if (crew)
    return html`<${CrewPage} name=${crew} crew=${found} isLoaded=${deployed.data !== undefined} id=${id}>${content}</${CrewPage}>`;
  return html`
    <${ui.Page} title="Crews" lead="Agents that work through tasks, and wait for your decision. The longest wait is first.">
      ${content}
      ${!outputs && !waiting.error && html`<${ui.Loading} />`}
      ${outputs?.length === 0 && html`<p class="muted nothing-waits">Nothing waits for you.</p>`}
      ${deployed.data && html`<${AllCrews} deployed=${deployed.data} id=${id} />`}
    </${ui.Page}>
  `;
}

/** @param {{ deployed: Deployed, id: string | undefined }} props */
function AllCrews({ deployed: { crews, invalid }, id }) {
  if (crews.length + invalid.length === 0) {
    return html`<${ui.Empty} title="No crew is deployed for your organisation.">A crew is a folder with its agents and tasks: <a href="/docs">the guide on crews</a> shows how to write one.</${ui.Empty}>`;
  }
  return html`
    ${invalid.map(({ name, problems }) => html`<div class="problem tall" role="alert"><strong>${name} cannot run</strong>${problems.map((problem) => html`<p>${problem}</p>`)}</div>`)}
    <ul class="crew-cards">
      ${crews.map(
        ({ name, tasks, agents, inputs }) => html`
          <li>
            <a class="tile" href=${linkTo('crews', { crew: name })}>
              <strong>${name}</strong>
              <span class="muted">${plural(agents.length, 'agent')}, ${plural(tasks.length, 'task')}, ${plural(inputs.length, 'input')}</span>
              <span class="muted">${tasks.map(({ task_id }) => task_id.replaceAll('_', ' ')).join(' → ')}</span>
            </a>
          </li>
        `,
      )}
    </ul>
    <section aria-label="Executions of crews">
      <div class="section-head"><h2>Executions</h2></div>
      <${ExecutionList} crews=${crews.slice(0, MAX_CREWS).map(({ name }) => name)} of="" id=${id} />
    </section>
    <section class="card signing-card" aria-label="Signing secret">
      <h2>Signing secret of the callbacks</h2>
      <${SigningSecret} path="/crews/signing-secret" as="crew" signs="callbacks of crews" />
    </section>
  `;
}

/**
 * A crew: its tasks and agents, a form that starts it, its executions.
 * @param {{ name: string, crew: Schemas['Crew'] | undefined, isLoaded: boolean, id: string | undefined, children?: import('../ui.js').Children }} props
 */
function CrewPage({ name, crew, isLoaded, id, children }) {
  useFocusOnTitle(name);
  return html`
    <${ui.Page} title=${name} actions=${html`<a class="button quiet" href=${linkTo('crews')}>All crews</a>`}>
      ${children}
      ${!isLoaded && html`<${ui.Loading} />`}
      ${isLoaded && !crew && html`<p class="muted">This crew is not deployed any more, so it cannot be started.</p>`}
      ${
        crew &&
        html`
          ${crew.warnings.length > 0 && html`<details class="notice"><summary>${plural(crew.warnings.length, 'setting')} of its files without effect</summary>${crew.warnings.map((warning) => html`<p>${warning}</p>`)}</details>`}
          <section class="card" aria-label="Tasks"><h2>Tasks</h2><${CrewPicture} tasks=${crew.tasks} /></section>
          <div class="crew-columns">
            <${Kickoff} key=${name} crew=${name} />
            <section class="card" aria-label="Agents">
              <h2>Agents</h2>
              <ul class="rows agents">
                ${crew.agents.map(
                  ({ name: agent, role, tools, model }) => html`
                    <li><div><strong>${role}</strong><small>${agent}, ${model}${tools.length > 0 && `, uses ${tools.join(', ')}`}</small></div></li>
                  `,
                )}
              </ul>
            </section>
          </div>
        `
      }
      ${
        !isUserKey(session.key('crew')) &&
        html`
          <section aria-label="Executions of the crew">
            <div class="section-head"><h2>Executions</h2></div>
            <${ExecutionList} crews=${[name]} of=${name} id=${id} />
          </section>
          <${CrewKeys} crew=${name} />
        `
      }
    </${ui.Page}>
  `;
}
