import { call } from '../api.js';
import { plural } from '../format.js';
import { html } from '../html.js';
import { useLive } from '../live.js';
import { linkTo } from '../router.js';
import { session } from '../session.js';
import { Problem, Time } from '../ui.js';

/** @typedef {import('../api.js').Schemas['WaitingOutput']} WaitingOutput */

const SHOWN = 5;

/** The outputs that wait for a person; none without a key for them. */
export function useWaiting() {
  const key = session.key('crew');
  return useLive(
    async (signal) => {
      if (key === null) return null;
      const { waiting, next_cursor } = await call('GET', '/crews/waiting?limit=100', { as: 'crew', signal });
      return { outputs: /** @type {WaitingOutput[]} */ (waiting), hasMore: next_cursor !== null };
    },
    [key !== null],
    5_000,
  );
}

/** What waits for a person. @param {{ waiting: ReturnType<typeof useWaiting> }} props */
export function WaitingSummary({ waiting: { data, error, refresh } }) {
  if (error) return html`<${Problem} error=${error} retry=${refresh} />`;
  if (data === undefined) return null;
  if (data === null) {
    return html`
      <section class="card" aria-label="Waits for you"><h2>Waits for you</h2>
        <p class="muted">Outputs of crews that wait for a decision are shown with a key of kind <code>crew_user</code>: <a href=${linkTo('crews')}>add one</a>.</p>
      </section>
    `;
  }
  const { outputs, hasMore } = data;
  if (outputs.length === 0) return null;
  return html`
    <section class="card" aria-label="Waits for you">
      <h2>Waits for you</h2>
      <ul class="rows">
        ${outputs.slice(0, SHOWN).map(
          ({ crew, execution_id, task_id, waiting_since, deadline, output }) => html`
            <li key=${execution_id}>
              <span class="grow">
                <a href=${linkTo('crews', { run: crew, id: execution_id })}>${crew} › ${task_id.replaceAll('_', ' ')}</a>
                <span class="muted clipped">${output.slice(0, 200)}</span>
              </span>
              ${deadline ? html`<span class="state warn">due <${Time} at=${deadline} /></span>` : html`<${Time} at=${waiting_since} />`}
            </li>
          `,
        )}
      </ul>
      ${outputs.length > SHOWN && html`<p><a href=${linkTo('crews')}>${`${hasMore ? 'More than ' : 'All '}${plural(outputs.length, 'output')}`}</a></p>`}
    </section>
  `;
}
