import { useState } from 'preact/hooks';
import { html } from './html.js';
import { Dialog, Problem } from './ui.js';

/**
 * Asks before something is done that cannot be undone.
 * @param {{ title: string, action: string, word?: string, run: () => Promise<unknown>, onClose: () => void, children?: import('./ui.js').Children }} props
 *   `action`: what the button says; `word`: what must be typed first
 */
export function Confirm({ title, action, word, run, onClose, children }) {
  const [typed, setTyped] = useState('');
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState(/** @type {Error | undefined} */ (undefined));
  /** @param {Event} event */
  const onSubmit = async (event) => {
    event.preventDefault();
    setBusy(true);
    try {
      await run();
      onClose();
    } catch (fault) {
      setError(/** @type {Error} */ (fault));
      setBusy(false);
    }
  };
  return html`
    <${Dialog} title=${title} onClose=${onClose}>
      <form class="dialog-body" onSubmit=${onSubmit}>
        ${children}
        ${
          word &&
          html`
            <label class="field"><span>Type <b>${word}</b> to confirm</span>
              <input value=${typed} autocomplete="off" spellcheck="false" onInput=${(/** @type {any} */ event) => setTyped(event.target.value)} />
            </label>
          `
        }
        <${Problem} error=${error} />
        <div class="dialog-end">
          <button type="submit" class="danger" disabled=${busy || (word !== undefined && typed !== word)}>${action}</button>
        </div>
      </form>
    </${Dialog}>
  `;
}
