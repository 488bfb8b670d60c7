import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { ago, exactly, words } from './format.js';
import { html } from './html.js';
import { Icon } from './icons.js';
import { workflowsLink } from './settings.js';

/** @typedef {import('preact').ComponentChildren} Children */

/**
 * A state in the words and the colour of its table.
 * @param {{ of: import('domain/state-machine.js').StateTable, state: string }} props
 */
export const State = ({ of, state }) => html`<${Tag} tone=${of[state]?.tone}>${labelOf(of, state)}</${Tag}>`;

/** @param {{ tone?: import('domain/state-machine.js').Tone, children?: Children }} props */
export const Tag = ({ tone = 'idle', children }) => html`<span class="state ${tone}">${children}</span>`;

/** @param {import('domain/state-machine.js').StateTable} table @param {string} state */
export const labelOf = (table, state) => table[state]?.label ?? words(state);

/**
 * The choices of a filter by state: all states, then each.
 * @param {import('domain/state-machine.js').StateTable} table
 * @returns {[string, string][]}
 */
export const stateChoices = (table) => [
  ['', 'All states'],
  .../** @type {[string, string][]} */ (Object.keys(table).map((state) => [state, capitalised(labelOf(table, state))])),
];

/** @param {string} text */
const capitalised = (text) => text.charAt(0).toUpperCase() + text.slice(1);

/** @param {{ at: string | null | undefined }} props */
export const Time = ({ at }) =>
  at ? html`<time datetime=${at} title=${exactly(at)}>${ago(at)}</time>` : html`<span>–</span>`;

/**
 * @param {{ title: string, lead?: Children, actions?: Children, children?: Children }} props
 */
export function Page({ title, lead, actions, children }) {
  useEffect(() => {
    document.title = `${title} · Postback`;
  }, [title]);
  return html`
    <header class="page-header">
      <div>
        <h1 tabindex="-1">${title}</h1>
        ${lead && html`<p class="lead">${lead}</p>`}
      </div>
      <div class="actions">${actions}</div>
    </header>
    ${children}
  `;
}

/** What to do where there is nothing to show. @param {{ title: string, children?: Children }} props */
export const Empty = ({ title, children }) => html`
  <div class="empty">
    <strong>${title}</strong>
    <div>${children}</div>
  </div>
`;

/** A command, or another text to copy. @param {{ children: string, label?: string }} props */
export function Command({ children, label = 'Command' }) {
  const [copied, setCopied] = useState(false);
  const copy = async () => {
    await navigator.clipboard?.writeText(children).catch(() => undefined);
    setCopied(true);
    setTimeout(() => setCopied(false), 1_500);
  };
  return html`
    <div class="command">
      <code tabindex="0" role="region" aria-label=${`${label}: ${children}`}>${children}</code>
      <button type="button" class="quiet" onClick=${copy}>${copied ? 'Copied' : 'Copy'}</button>
    </div>
  `;
}

/** @param {{ error: Error | undefined, retry?: () => void }} props */
export const Problem = ({ error, retry }) =>
  error &&
  html`
    <div class="problem" role="alert">
      <span>${error.message}</span>
      ${retry && html`<button type="button" class="quiet" onClick=${retry}>Try again</button>`}
    </div>
  `;

/** Placeholder lines while the first data is loading. @param {{ lines?: number }} props */
export const Loading = ({ lines = 6 }) => html`
  <div class="loading" role="status" aria-label="Loading">${Array.from({ length: lines }, () => html`<span></span>`)}</div>
`;

/** A link to the workflows of a record. @param {{ attributes: Record<string, string>, label?: string }} props */
export function WorkflowLink({ attributes, label = 'Temporal' }) {
  const href = workflowsLink(attributes);
  if (!href) return null;
  return html`
    <a class="button quiet" href=${href} target="_blank" rel="noreferrer" title="Its workflow in the Temporal UI">
      ${label}<${Icon} name="external" />
    </a>
  `;
}

/** Terms and their values; empty values are left out. @param {{ entries: [string, Children][] }} props */
export const Facts = ({ entries }) => html`
  <dl class="facts">
    ${entries
      .filter(([, value]) => value !== null && value !== undefined && value !== '' && value !== false)
      .map(([term, value]) => html`<div><dt>${term}</dt><dd>${value}</dd></div>`)}
  </dl>
`;

/** @param {{ label: string, children?: Children }} props */
export const Block = ({ label, children }) => html`
  <pre class="block" tabindex="0" role="region" aria-label=${label}>${children}</pre>
`;

/** @param {{ label: string, value: unknown }} props */
export const Json = ({ label, value }) => html`<${Block} label=${label}>${JSON.stringify(value, null, 2)}</${Block}>`;

/**
 * A panel beside the list. Escape closes it, and the focus returns to where it was.
 * @param {{ title: Children, name: string, onClose: () => void, actions?: Children, wide?: boolean, children?: Children }} props
 */
export function Drawer({ title, name, onClose, actions, wide = false, children }) {
  const panel = useRef(/** @type {HTMLElement | null} */ (null));
  const close = useRef(onClose);
  close.current = onClose;
  // Before the panel is painted, so that it never is visible and deaf to Escape.
  useLayoutEffect(() => {
    const before = /** @type {HTMLElement | null} */ (document.activeElement);
    panel.current?.focus();
    return () => before?.focus?.();
  }, []);
  // On the document: the focus can be outside the panel, or on an element of the panel that is gone.
  useLayoutEffect(() => {
    /** @param {KeyboardEvent} event */
    const onKeyDown = (event) => {
      if (event.key === 'Escape' && !document.querySelector('dialog[open]')) close.current();
    };
    document.addEventListener('keydown', onKeyDown);
    return () => document.removeEventListener('keydown', onKeyDown);
  }, []);
  return html`
    <div class="drawer ${wide ? 'spacious' : ''}" role="dialog" aria-label=${name} tabindex="-1" ref=${panel}>
      <header>
        <h2>${title}</h2>
        <div class="actions">
          ${actions}
          <button type="button" class="quiet icon-only" aria-label="Close" onClick=${onClose}><${Icon} name="close" /></button>
        </div>
      </header>
      <div class="drawer-body">${children}</div>
    </div>
  `;
}

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
 * @template T
 * @typedef {object} Column
 * @property {string} title
 * @property {(row: T) => Children} cell
 * @property {string} [className] `wide` hides it on narrow screens, `number` aligns it right
 */

/**
 * A list of records. The first cell of each row opens it; arrow keys move between rows.
 * @template T
 * @param {{ label: string, columns: Column<T>[], rows: T[], keyOf: (row: T) => string, hrefOf?: (row: T) => string, open?: string | undefined }} props
 */
export function Table({ label, columns, rows, keyOf, hrefOf, open }) {
  return html`
    <div class="table" role="region" aria-label=${label} onKeyDown=${moveBetweenRows}>
      <table>
        <thead>
          <tr>${columns.map(({ title, className }) => html`<th class=${className} scope="col">${title}</th>`)}</tr>
        </thead>
        <tbody>
          ${rows.map((row) => {
            const key = keyOf(row);
            const cells = columns.map(({ cell, className }, index) => {
              const content =
                index === 0 && hrefOf ? html`<a class="row-link" href=${hrefOf(row)}>${cell(row)}</a>` : cell(row);
              return html`<td class=${className}>${content}</td>`;
            });
            return html`<tr key=${key} aria-selected=${key === open ? 'true' : undefined}>${cells}</tr>`;
          })}
        </tbody>
      </table>
    </div>
  `;
}

/** @param {KeyboardEvent} event */
function moveBetweenRows(event) {
  const step = { ArrowDown: 1, j: 1, ArrowUp: -1, k: -1 }[event.key];
  const links = [.../** @type {HTMLElement} */ (event.currentTarget).querySelectorAll('a.row-link')];
  const at = links.indexOf(/** @type {Element} */ (event.target));
  if (step === undefined || at < 0) return;
  event.preventDefault();
  /** @type {HTMLElement | undefined} */ (links[at + step])?.focus();
}

/**
 * Cursors of the pages that were visited.
 * @returns {{ cursor: string | undefined, older: (next: string) => void, newer: () => void, isFirst: boolean }}
 * @param {unknown[]} filters a change returns to the first page
 */
export function usePages(filters) {
  const identity = JSON.stringify(filters);
  const [state, setState] = useState({ identity, cursors: /** @type {string[]} */ ([]) });
  const cursors = state.identity === identity ? state.cursors : [];
  return {
    cursor: cursors.at(-1),
    isFirst: cursors.length === 0,
    older: (next) => setState({ identity, cursors: [...cursors, next] }),
    newer: () => setState({ identity, cursors: cursors.slice(0, -1) }),
  };
}

/** @param {{ pages: ReturnType<typeof usePages>, next: string | null | undefined }} props */
export const Pages = ({ pages, next }) =>
  pages.isFirst && !next
    ? null
    : html`
        <nav class="pages" aria-label="Pages">
          <button type="button" disabled=${pages.isFirst} onClick=${pages.newer}>Newer</button>
          <button type="button" disabled=${!next} onClick=${() => next && pages.older(next)}>Older</button>
        </nav>
      `;

/**
 * A choice of a few values, as a list.
 * @param {{ label: string, value: string, options: [value: string, label: string][], onChange: (value: string) => void }} props
 */
export const Select = ({ label, value, options, onChange }) => html`
  <label class="field">
    <span>${label}</span>
    <select value=${value} onChange=${(/** @type {any} */ event) => onChange(event.target.value)}>
      ${options.map(([option, text]) => html`<option value=${option} selected=${option === value}>${text}</option>`)}
    </select>
  </label>
`;

/**
 * A button that runs something once at a time.
 * @param {{ run: () => Promise<unknown>, className?: string, children?: Children, disabled?: boolean }} props
 */
export function ActionButton({ run, className = '', children, disabled = false }) {
  const [busy, setBusy] = useState(false);
  const onClick = async () => {
    setBusy(true);
    try {
      await run();
    } finally {
      setBusy(false);
    }
  };
  return html`<button type="button" class=${className} disabled=${busy || disabled} onClick=${onClick}>${children}</button>`;
}
