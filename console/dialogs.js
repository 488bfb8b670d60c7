import { useEffect, useRef, useState } from 'preact/hooks';
import { html } from './html.js';
import { Icon } from './icons.js';
import { useAction } from './live.js';
import { Field, Problem } from './ui.js';

/** @typedef {import('./ui.js').Children} Children */

/**
 * A modal dialog. The browser keeps the focus inside.
 * @param {{ title: string, onClose: () => void, children?: Children }} props
 */
export function Dialog({ title, onClose, children }) {
  const dialog = useRef(/** @type {HTMLDialogElement | null} */ (null));
  useEffect(() => {
    const before = /** @type {HTMLElement | null} */ (document.activeElement);
    dialog.current?.showModal();
    return () => before?.focus?.();
  }, []);
  return html`
    <dialog ref=${dialog} aria-label=${title} onClose=${onClose}>
      <header>
        <h2>${title}</h2>
        <button type="button" class="quiet icon-only" aria-label="Close" onClick=${() => dialog.current?.close()}>
          <${Icon} name="close" />
        </button>
      </header>
      ${children}
    </dialog>
  `;
}

/**
 * A dialog with a form.
 * @param {object} props
 * @param {string} props.title
 * @param {string} props.action what the button says
 * @param {ReturnType<typeof useAction>} props.form
 * @param {() => void} props.onClose
 * @param {'primary' | 'danger'} [props.tone]
 * @param {string} [props.keep] what the button says that only closes the dialog
 * @param {boolean} [props.disabled]
 * @param {Children} [props.children]
 */
export const FormDialog = ({
  title,
  action,
  form,
  onClose,
  tone = 'primary',
  keep,
  disabled = false,
  children,
}) => html`
  <${Dialog} title=${title} onClose=${onClose}>
    <form class="dialog-body" onSubmit=${form.submit}>
      ${children}
      <${Problem} error=${form.error} />
      <div class="dialog-end">
        ${keep && html`<button type="button" onClick=${onClose}>${keep}</button>`}
        <button type="submit" class=${tone} disabled=${form.busy || disabled}>${action}</button>
      </div>
    </form>
  </${Dialog}>
`;

/**
 * Asks before something is done that cannot be undone.
 * @param {{ title: string, action: string, word?: string, keep?: string, run: () => Promise<unknown>, onClose: () => void, children?: Children }} props
 *   `word`: what must be typed first
 */
export function Confirm({ word, run, onClose, children, ...dialog }) {
  const [typed, setTyped] = useState('');
  const form = useAction(async () => {
    await run();
    onClose();
  });
  return html`
    <${FormDialog} ...${dialog} tone="danger" form=${form} disabled=${word !== undefined && typed !== word} onClose=${onClose}>
      ${children}
      ${word && html`<${Field} label=${html`Type <b>${word}</b> to confirm`} value=${typed} autocomplete="off" spellcheck="false" onInput=${setTyped} />`}
    </${FormDialog}>
  `;
}
