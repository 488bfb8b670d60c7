/** The page of a review link: shows one output and takes one decision. Everything that others wrote is set as text. */

/** @param {string} id */
const part = (id) => /** @type {HTMLElement} */ (document.getElementById(id));
const form = /** @type {HTMLFormElement} */ (part('decision'));
const feedback = /** @type {HTMLTextAreaElement} */ (part('feedback'));
const buttons = [...form.querySelectorAll('button')];

/** @typedef {{ state: 'waiting' | 'approved' | 'rejected' | 'over', crew: string, task_id: string, output?: string, deadline?: string, decided_at?: string, decided_by?: string }} Review */

/** @param {string} time */
const local = (time) => new Date(time).toLocaleString(undefined, { dateStyle: 'long', timeStyle: 'short' });

/**
 * Calls the API with the token of the link, which is in no other place than the fragment.
 * @param {string} path
 * @param {object} [body]
 */
async function call(path, body) {
  const headers = { Authorization: `Bearer ${location.hash.slice(1)}`, 'Content-Type': 'application/json' };
  const init = body ? { method: 'POST', body: JSON.stringify(body) } : {};
  const response = await fetch(path, { ...init, headers }).catch(() => null);
  if (!response) throw new Error('The server cannot be reached. Try again in a moment.');
  const answer = await response.json().catch(() => ({}));
  if (!response.ok) throw new Error(answer.message ?? `The server responded with status ${response.status}.`);
  return answer;
}

/** @param {string} text */
function close(text) {
  part('review').hidden = true;
  part('message').textContent = text;
  part('title').focus();
}

/** @param {Review} review */
function describe({ state, decided_at, decided_by, deadline }) {
  if (state === 'waiting')
    return deadline ? `A decision is due by ${local(deadline)}.` : 'This output waits for your decision.';
  if (state === 'over')
    return 'This output does not wait for a decision any more: the deadline has passed, or the work has ended.';
  return `This output was ${state}${decided_by ? ` ${decided_by}` : ''}${decided_at ? `, on ${local(decided_at)}` : ''}.`;
}

async function load() {
  part('problem').textContent = '';
  if (location.hash.length < 2)
    return close('This address is incomplete: copy the whole link, with the part after "#".');
  try {
    /** @type {Review} */
    const review = await call('/review/output');
    part('title').textContent = `Review of ${review.task_id} by the crew ${review.crew}`;
    document.title = `Review: ${review.task_id}`;
    if (review.state !== 'waiting') return close(describe(review));
    part('message').textContent = describe(review);
    part('output').textContent = review.output ?? '';
    part('review').hidden = false;
  } catch (error) {
    close(/** @type {Error} */ (error).message);
  }
}

/** @param {string} text */
function complain(text) {
  part('problem').textContent = text;
  feedback.setAttribute('aria-invalid', String(text !== ''));
}

/** @param {boolean} isApprove */
async function decide(isApprove) {
  const text = feedback.value.trim();
  if (!isApprove && text === '') {
    complain('Say what should be different.');
    return feedback.focus();
  }
  complain('');
  for (const button of buttons) button.disabled = true;
  try {
    const { message } = await call('/review/decision', {
      is_approve: isApprove,
      ...(text === '' ? {} : { human_feedback: text }),
    });
    close(`Thank you. ${message}`);
  } catch (error) {
    // Somebody else may have decided: the page then says what.
    const review = await call('/review/output').catch(() => null);
    if (review && review.state !== 'waiting') close(describe(review));
    else part('problem').textContent = /** @type {Error} */ (error).message;
  } finally {
    for (const button of buttons) button.disabled = false;
  }
}

form.addEventListener('submit', (event) => {
  event.preventDefault();
  const { submitter } = /** @type {SubmitEvent} */ (event);
  void decide(/** @type {HTMLButtonElement | null} */ (submitter)?.value === 'approve');
});
addEventListener('hashchange', () => void load());
void load();
