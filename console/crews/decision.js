import { deciderInWords } from 'domain/crews/decisions.js';
import { useEffect, useRef } from 'preact/hooks';
import { call } from '../api.js';

/** @typedef {import('../api.js').Schemas} Schemas */

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
