import { call } from '../api.js';
import { html } from '../html.js';
import { useAction } from '../live.js';
import { isUserKey, keysIn, session } from '../session.js';
import { Command, Field, Problem } from '../ui.js';

const KINDS = {
  api: { option: '--org <organisation> --kind api', opens: 'items, search, deliveries, jobs, connectors and usage' },
  crew: { option: '--org <organisation> --kind crew_user', opens: 'the crews that wait for you' },
  payment: { option: '--org <organisation> --kind payment_secret', opens: 'payment authentications' },
};

/**
 * Asks for a key. A signed-in person is asked for a key of another kind only where a page needs it.
 * @param {{ slot?: import('../session.js').KeySlot, title?: string }} props
 */
export function SignIn({ slot, title }) {
  const wanted = KINDS[slot ?? 'api'];

  const form = useAction(async (/** @type {SubmitEvent & { currentTarget: HTMLFormElement }} */ { currentTarget }) =>
    session.signIn(await verify(String(new FormData(currentTarget).get('key')), slot)),
  );
  return html`
    <div class="card sign-in-card">
      <img src="/console/icon.svg" alt="" width="40" height="40" />
      <h1 tabindex="-1">${slot ? `${title} needs a key of another kind` : 'Postback console'}</h1>
      <p class="lead">
        ${slot ? `This key shows ${wanted.opens}. Your other key stays.` : 'Sign in with a key of your organisation.'}
      </p>
      <form onSubmit=${form.submit}>
        <${Field} label="Key" name="key" type="password" required autocomplete="off" spellcheck="false" placeholder="pbk_…" autofocus />
        ${!form.error && session.notice() && html`<p class="problem" role="alert">${session.notice()}</p>`}
        <${Problem} error=${form.error} />
        <button type="submit" class="primary" disabled=${form.busy}>Sign in</button>
      </form>
      <details>
        <summary>Where do I get a key?</summary>
        <p>${slot ? html`<code>npm start</code> has made one of each kind.` : html`<code>npm start</code> prints one, and has made one of each kind.`} Paste all of them at once, as this prints them:</p>
        <${Command}>./postback env</${Command}>
        <p>Operators create others, for ${wanted.opens}:</p>
        <${Command}>${`./postback keys create ${wanted.option}`}</${Command}>
        <p>The key stays in this tab, and is gone when you close it or sign out.</p>
      </details>
    </div>
  `;
}

/**
 * @param {string} text with one key or several
 * @param {import('../session.js').KeySlot | undefined} wanted
 * @returns {Promise<ReturnType<typeof keysIn>>} its keys
 * @throws Error when one is not accepted, or none is of the wanted kind
 */
async function verify(text, wanted) {
  const keys = keysIn(text);
  if (Object.keys(keys).length === 0) {
    throw new Error(
      /pbk_pk_/.test(text)
        ? 'A publishable key opens no page here. Use a key of kind api, crew_user or payment_secret.'
        : 'This is not a key of Postback: keys start with pbk_.',
    );
  }
  if (wanted && !keys[wanted]) {
    const kinds = { api: 'api', crew: 'crew_user or crew_org', payment: 'payment_secret' };
    throw new Error(`This key is for other pages. Here you need a key of kind ${kinds[wanted]}.`);
  }
  const checks = {
    api: '/usage',
    crew: isUserKey(keys.crew) ? '/crews/waiting?limit=1' : '/usage',
    payment: '/authentication?limit=1',
  };
  const slots = /** @type {import('../session.js').KeySlot[]} */ (Object.keys(keys));
  await Promise.all(slots.map((slot) => call('GET', checks[slot], { as: slot, key: keys[slot] })));
  return keys;
}
