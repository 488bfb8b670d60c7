import { useState } from 'preact/hooks';
import { call } from './api.js';
import { Confirm } from './dialogs.js';
import { html } from './html.js';
import { useAction } from './live.js';
import { Command, Field, Problem } from './ui.js';

/**
 * A signing secret: generates it, shows it once, rotates it, and deletes it where that is possible.
 * @param {object} props
 * @param {string} props.path of the API, such as `/crews/signing-secret`
 * @param {import('./session.js').KeySlot} [props.as] the key that is used
 * @param {boolean | undefined} [props.isConfigured] undefined where the API does not say whether there is one
 * @param {string} props.signs what is signed with it, such as "webhooks"
 * @param {boolean} [props.canDelete]
 * @param {() => Promise<unknown>} [props.onChanged]
 */
export function SigningSecret({ path, as = 'api', isConfigured, signs, canDelete = true, onChanged }) {
  const [secret, setSecret] = useState('');
  const [done, setDone] = useState('');
  const [asks, setAsks] = useState(/** @type {'' | 'generate' | 'set' | 'delete'} */ (''));
  /** @param {string} method @param {object} [body] */
  const change = async (method, body) => {
    const { signing_secret = '', message } = await call(method, path, { body, as });
    setSecret(signing_secret);
    setDone(message);
    await onChanged?.();
  };
  const generate = useAction(() => {
    setDone('');
    return change('POST', {});
  });
  // Without a secret nothing can break, so nothing is asked.
  const onGenerate = () => (isConfigured === false ? generate.run() : setAsks('generate'));
  const close = () => setAsks('');
  return html`
    <div class="signing-secret">
      <p class="muted" role="status">
        ${done || (isConfigured === undefined ? `Signs ${signs}. A secret is shown only when it is generated.` : isConfigured ? `The ${signs} are signed. The secret cannot be shown again.` : `The ${signs} are not signed.`)}
      </p>
      ${
        secret &&
        html`
          <div class="secret-once">
            <${Command} label="New signing secret">${secret}</${Command}>
            <div><button type="button" onClick=${() => setSecret('')}>I have stored it</button></div>
          </div>
        `
      }
      <${Problem} error=${done ? undefined : generate.error} />
      <div class="decision">
        <button type="button" disabled=${generate.busy} onClick=${onGenerate}>${isConfigured === false ? 'Generate a secret' : isConfigured ? 'Rotate the secret' : 'Generate a new secret'}</button>
        <button type="button" class="quiet" onClick=${() => setAsks('set')}>Set my own</button>
        ${canDelete && isConfigured !== false && html`<button type="button" class="quiet" onClick=${() => setAsks('delete')}>Delete the secret</button>`}
      </div>
      ${
        asks === 'generate' &&
        html`
          <${Confirm} title="Rotate the signing secret" action="Generate a new secret" run=${() => change('POST', {})} onClose=${close}>
            <p>The next attempt of every delivery is signed with the new secret. For 24 hours <code>webhook-signature</code> also has a signature with the replaced one, so that receivers can change theirs in time.</p>
          </${Confirm}>
        `
      }
      ${asks === 'set' && html`<${OwnSecret} onClose=${close} onSet=${(/** @type {string} */ own) => change('POST', { signing_secret: own })} />`}
      ${
        asks === 'delete' &&
        html`
          <${Confirm} title="Delete the signing secret" action="Delete the secret" run=${() => change('DELETE')} onClose=${close}>
            <p>From now on ${signs} have no signature, and receivers that verify it reject them. The replaced secret stops signing, too.</p>
          </${Confirm}>
        `
      }
    </div>
  `;
}

/** @param {{ onClose: () => void, onSet: (secret: string) => Promise<void> }} props */
function OwnSecret({ onClose, onSet }) {
  const [own, setOwn] = useState('');
  return html`
    <${Confirm} title="Set a signing secret" action="Set the secret" run=${() => onSet(own)} onClose=${onClose}>
      <p class="muted">At least 16 characters. Prefer a generated secret: libraries of Standard Webhooks take it as it is.</p>
      <${Field} label="Secret" type="password" required minlength="16" maxlength="1024" autocomplete="off" value=${own} onInput=${setOwn} />
    </${Confirm}>
  `;
}
