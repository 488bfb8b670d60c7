import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { ago, exactly, words } from './format.js';
import { html } from './html.js';
import { Icon } from './icons.js';
import { change, closeRecord } from './router.js';
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

/** Copies a text. Browsers give the clipboard to pages with TLS or on this machine only. @param {{ text: string }} props */
export function CopyButton({ text }) {
  const [said, setSaid] = useState('');
  const copy = async () => {
    const copied = await navigator.clipboard?.writeText(text).then(
      () => true,
      () => false,
    );
    setSaid(copied ? 'Copied' : 'Not allowed here');
    setTimeout(() => setSaid(''), 1_500);
  };
  return html`<button type="button" class="quiet copy" onClick=${copy}><span aria-live="polite">${said || 'Copy'}</span></button>`;
}

/** A command, or another text to copy. @param {{ children: string, label?: string }} props */
export const Command = ({ children, label = 'Command' }) => html`
  <div class="command">
    <code tabindex="0" role="region" aria-label=${`${label}: ${children}`}>${children}</code>
    <${CopyButton} text=${children} />
  </div>
`;

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

/**
 * What depends on data that is read: a problem, and placeholder lines until the first data is there.
 * @param {object} props
 * @param {import('./live.js').Live<unknown>} props.of
 * @param {Error | undefined} [props.error]
 * @param {() => void} [props.retry]
 * @param {Children} [props.children] shown with or without data
 */
export const Loaded = ({ of, error = of.error, retry, children }) => html`
  <${Problem} error=${error} retry=${retry} />
  ${!of.data && !of.error && html`<${Loading} />`}
  ${children}
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
 * A record in a panel beside its list. Escape closes the panel, and the focus returns to where it was.
 * @param {object} props
 * @param {Children} props.title
 * @param {string} props.name
 * @param {import('./live.js').Live<unknown>} props.record
 * @param {Error} [props.error] of what a person did with the record
 * @param {() => void} [props.retry]
 * @param {Children} [props.actions]
 * @param {boolean} [props.wide]
 * @param {Children} [props.children]
 */
export function Drawer({ title, name, record, error, retry, actions, wide = false, children }) {
  const panel = useRef(/** @type {HTMLElement | null} */ (null));
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
      if (event.key === 'Escape' && !document.querySelector('dialog[open]')) closeRecord();
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
          <button type="button" class="quiet icon-only" aria-label="Close" onClick=${closeRecord}><${Icon} name="close" /></button>
        </div>
      </header>
      <div class="drawer-body"><${Loaded} of=${record} error=${error ?? record.error} retry=${retry}>${children}</${Loaded}></div>
    </div>
  `;
}

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

/** A select whose choice is a parameter of the address. @param {{ name: string } & Omit<Parameters<typeof Select>[0], 'onChange'>} props */
export const Filter = ({ name, ...select }) => html`
  <${Select} ...${select} onChange=${(/** @type {string} */ value) => change({ [name]: value, id: '' })} />
`;

/**
 * A field for a text. Its other properties are those of the input.
 * @param {object} props
 * @param {Children} props.label
 * @param {'input' | 'textarea'} [props.as]
 * @param {(value: string) => void} [props.onInput] called with each letter
 * @param {(value: string) => void} [props.onChange] called when the text is complete
 * @param {string} [props.className]
 * @param {Children} [props.children] below the input
 */
export const Field = ({ label, as = 'input', onInput, onChange, className = '', children, ...input }) => html`
  <label class="field ${className}"><span>${label}</span>
    <${as} ...${input} onInput=${withValue(onInput)} onChange=${withValue(onChange)} />
    ${children}
  </label>
`;

/**
 * A field whose text counts when it is complete. Each rendering sets the value of an input, so what is typed is kept here: a page
 * that is read again meanwhile would remove it.
 * @param {{ value: string } & Parameters<typeof Field>[0]} props
 */
export function CompleteField({ value, ...field }) {
  const [typed, setTyped] = useState(value);
  useEffect(() => setTyped(value), [value]);
  return html`<${Field} ...${field} value=${typed} onInput=${setTyped} />`;
}

/** @param {((value: string) => void) | undefined} listener */
const withValue = (listener) => listener && ((/** @type {any} */ event) => listener(event.target.value));

/**
 * A choice of a few values, all in sight.
 * @param {{ label: string, value: string, options: readonly (readonly [value: string, label: string])[], onChange: (value: any) => void }} props
 */
export const Segmented = ({ label, value, options, onChange }) => html`
  <div class="segmented" role="group" aria-label=${label}>
    ${options.map(([option, text]) => html`<button type="button" aria-pressed=${option === value ? 'true' : 'false'} onClick=${() => onChange(option)}>${text}</button>`)}
  </div>
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
