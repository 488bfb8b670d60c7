import { deciderInWords } from 'domain/crews/decisions.js';
import { useEffect, useRef, useState } from 'preact/hooks';
import { call } from '../api.js';
import { html } from '../html.js';
import { Icon } from '../icons.js';
import { useAction } from '../live.js';
import * as ui from '../ui.js';
import { CallbackFields, givenUrls, urlsOf } from './callbacks.js';

/** @typedef {import('../api.js').Schemas} Schemas */

/** @typedef {{ task_id: string, attempt: number, is_approve: boolean, human_feedback: string } & Record<string, unknown>} Decision the fields of a resume */

/**
 * An output that waits for a person, with what the person can do.
 * @param {{ output: Schemas['WaitingOutput'], onDecide: (output: Schemas['WaitingOutput'], decision: Decision) => Promise<void> }} props
 */
export function Waiting({ output, onDecide }) {
  const { crew, execution_id, task_id, agent, attempt, waiting_since, deadline } = output;
  const [feedback, setFeedback] = useState('');
  // The receivers so far, which a decision ends unless it names them again.
  const [urls, setUrls] = useState(() => urlsOf(output));
  /** @param {boolean} is_approve */
  const decide = async (is_approve) => {
    if (!is_approve && !feedback.trim()) throw new Error('Say what should change: the agent gets your words.');
    const human_feedback = feedback.trim() || 'Approved.';
    await onDecide(output, { task_id, attempt, is_approve, human_feedback, ...givenUrls(urls) });
  };
  const decision = useAction(decide);
  return html`
    <section class="card waiting" aria-label=${`${crew}, ${task_id}`}>
      <header>
        <h2>${crew} › ${task_id.replaceAll('_', ' ')}</h2>
        <span class="muted">by ${agent}, attempt ${attempt}, waiting since <${ui.Time} at=${waiting_since} />${deadline && html`, due <${ui.Time} at=${deadline} />`}</span>
        <${ui.WorkflowLink} attributes=${{ WorkflowId: `crew/${execution_id}` }} />
      </header>
      <${ui.Block} label="Output">${output.output}</${ui.Block}>
      <${ui.Field} as="textarea" label="Feedback" rows="2" maxlength="20000" value=${feedback} placeholder="What should change, if you reject it"
        onInput=${setFeedback} />
      <details open=${Object.values(urls).some((url) => url !== '')}>
        <summary>Callbacks after this decision</summary>
        <p class="muted">These addresses are called from now on. An empty field ends its callbacks.</p>
        <${CallbackFields} urls=${urls} onChange=${setUrls} />
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
      <${ui.Problem} error=${decision.error} />
      <div class="decision">
        <${ui.ActionButton} className="primary" run=${() => decision.run(true)}><${Icon} name="check" />Approve</${ui.ActionButton}>
        <${ui.ActionButton} run=${() => decision.run(false)}><${Icon} name="retry" />Reject with feedback</${ui.ActionButton}>
      </div>
    </section>
  `;
}

/** A decision in a sentence. @param {Schemas['CrewDecision']} decision */
export const decisionInWords = ({ attempt, is_approve, decided_by }) =>
  `Attempt ${attempt} was ${is_approve ? 'approved' : 'rejected'} ${deciderInWords(decided_by)}.`;

/**
 * Reports the outputs on this page on which somebody else has decided.
 * @param {Schemas['WaitingOutput'][] | undefined} outputs those that wait now
 * @param {(message: string) => void} report
 * @returns {{ add: (execution: string) => void, delete: (execution: string) => void }} the executions on which this page decides
 */
export function useDecisionsOfOthers(outputs, report) {
  const shown = useRef(/** @type {Schemas['WaitingOutput'][]} */ ([]));
  const own = useRef(/** @type {Set<string>} */ (new Set()));
  useEffect(() => {
    if (!outputs) return;
    const isSame = (/** @type {Schemas['WaitingOutput']} */ a, /** @type {Schemas['WaitingOutput']} */ b) =>
      a.execution_id === b.execution_id && a.task_id === b.task_id && a.attempt === b.attempt;
    const gone = shown.current.filter((output) => !outputs.some((other) => isSame(other, output)));
    shown.current = outputs;
    for (const output of gone) {
      if (own.current.delete(output.execution_id)) continue;
      void messageAbout(output).then((message) => message && report(message));
    }
  }, [outputs]);
  return own.current;
}

/** @param {Schemas['WaitingOutput']} output that does not wait any more @returns {Promise<string | null>} */
async function messageAbout({ crew, execution_id, task_id, attempt }) {
  const path = `/crews/${encodeURIComponent(crew)}/${encodeURIComponent(execution_id)}/status`;
  const execution = await call('GET', path, { as: 'crew' }).catch(() => null);
  const task = execution?.tasks.find((/** @type {Schemas['CrewTask']} */ each) => each.task_id === task_id);
  if (!task) return null;
  const words = task.decision?.attempt === attempt ? decisionInWords(task.decision) : 'It does not wait any more.';
  return `${crew}, ${task_id}: ${words}`;
}
