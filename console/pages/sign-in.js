import { useState } from 'preact/hooks';
import { call } from '../api.js';
import { html } from '../html.js';
import { isUserKey, session, slotOf } from '../session.js';
import { Command, Problem } from '../ui.js';

const KINDS = {
  api: { option: '--org <organisation> --kind api', opens: 'items, search, deliveries, jobs, connectors and usage' },
  crew: { option: '--org <organisation> --kind crew_user', opens: 'the crews that wait for you' },
};

/**
 * Asks for a key. A signed-in person is asked for a key of another kind only where a page needs it.
 * @param {{ slot?: import('../session.js').KeySlot, title?: string }} props
 */
export function SignIn({ slot, title }) {
  const [error, setError] = useState(/** @type {Error | undefined} */ (undefined));
  const [busy, setBusy] = useState(false);
  const wanted = KINDS[slot ?? 'api'];

  /** @param {SubmitEvent & { currentTarget: HTMLFormElement }} event */
  const onSubmit = async (event) => {
    event.preventDefault();
    const key = String(new FormData(event.currentTarget).get('key')).trim();
    setBusy(true);
    try {
      session.signIn(await verify(key, slot), key);
    } catch (fault) {
      setError(/** @type {Error} */ (fault));
    }
    setBusy(false);
  };

  return html`
    <div class="card sign-in-card">
      <img src="/console/icon.svg" alt="" width="40" height="40" />
      <h1 tabindex="-1">${slot ? `${title} needs a key of another kind` : 'Postback console'}</h1>
      <p class="lead">
        ${slot ? `This key shows ${wanted.opens}. Your other key stays.` : 'Sign in with a key of your organisation.'}
      </p>
      <form onSubmit=${onSubmit}>
        <label class="field">
          <span>Key</span>
          <input name="key" type="password" required autocomplete="off" spellcheck="false" placeholder="pbk_…" autofocus />
        </label>
        ${!error && session.notice() && html`<p class="problem" role="alert">${session.notice()}</p>`}
        <${Problem} error=${error} />
        <button type="submit" class="primary" disabled=${busy}>Sign in</button>
      </form>
      <details>
        <summary>Where do I get a key?</summary>
        <p>${slot === 'crew' ? html`<code>npm start</code> writes keys of all kinds to <code>.postback/dev.json</code>.` : html`<code>npm start</code> prints one.`} Operators create others, for ${wanted.opens}:</p>
        <${Command}>${`npx postback keys create ${wanted.option}`}</${Command}>
        <p>The key stays in this tab, and is gone when you close it or sign out.</p>
      </details>
    </div>
  `;
}

/**
 * @param {string} key
 * @param {import('../session.js').KeySlot | undefined} wanted
 * @returns {Promise<import('../session.js').KeySlot>} which kind of key it is
 * @throws Error when it is not accepted here
 */
async function verify(key, wanted) {
  const slot = slotOf(key);
  if (slot === null) throw new Error('This is not a key of Postback: keys start with pbk_.');
  if (slot === 'payment') throw new Error('Keys for payments have no pages here. Use a key of kind api or crew_user.');
  if (wanted && slot !== wanted)
    throw new Error(
      `This key is for other pages. Here you need a key of kind ${wanted === 'api' ? 'api' : 'crew_user or crew_org'}.`,
    );
  await call('GET', isUserKey(key) ? '/crews/waiting?limit=1' : '/usage', { key });
  return slot;
}
