import { call } from '../api.js';
import { plural } from '../format.js';
import { html } from '../html.js';
import { useLive } from '../live.js';
import * as ui from '../ui.js';

/** @typedef {{ type: 'thought', text: string, actions?: { tool: string, input: object }[] } | { type: 'action', tool: string, input: object, ok: boolean, result: string }} Step */

/** What an agent thinks and does in its attempt at a task, as it happens. @param {{ path: string, task: string, isWorking: boolean }} props */
export function Steps({ path, task, isWorking }) {
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
