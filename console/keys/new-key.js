import { useState } from 'preact/hooks';
import { call } from '../api.js';
import { Dialog, FormDialog } from '../dialogs.js';
import { html } from '../html.js';
import { useAction } from '../live.js';
import * as ui from '../ui.js';
import { KINDS, SCOPES } from './kinds.js';

/** @typedef {import('../api.js').Schemas} Schemas */
/** @typedef {Schemas['Key']['kind']} Kind */

/** Days until a key expires; an empty text: never. */
const LIFETIMES = /** @type {[string, string][]} */ ([
  ['7', 'in 7 days'],
  ['30', 'in 30 days'],
  ['90', 'in 90 days'],
  ['365', 'in a year'],
  ['', 'never'],
]);

/**
 * A dialog that creates a key, and then shows it once.
 * @param {{ kinds: Kind[], crew?: string, onClose: () => void, onCreated: () => Promise<void> }} props
 *   `crew`: a key of a user is for this crew
 */
export function NewKey({ kinds, crew, onClose, onCreated }) {
  const [created, setCreated] = useState(/** @type {Schemas['CreateKeyResponse']['data'] | undefined} */ (undefined));
  if (created) return html`<${Reveal} created=${created} onClose=${onClose} />`;
  /** @param {typeof created} data */
  const onDone = async (data) => {
    setCreated(data);
    await onCreated();
  };
  return html`<${Form} kinds=${kinds} crew=${crew} onClose=${onClose} onDone=${onDone} />`;
}

/** @param {{ kinds: Kind[], crew?: string, onClose: () => void, onDone: (created: any) => Promise<void> }} props */
function Form({ kinds, crew, onClose, onDone }) {
  const [kind, setKind] = useState(/** @type {Kind} */ (kinds[0]));
  /** @param {SubmitEvent & { currentTarget: HTMLFormElement }} event */
  const create = async ({ currentTarget }) =>
    onDone(await call('POST', '/keys', { body: bodyOf(kind, new FormData(currentTarget), crew) }));
  const form = useAction(create);
  return html`
    <${FormDialog} title="New key" action="Create" form=${form} onClose=${onClose}>
        <${ui.Select} label="Kind" value=${kind} options=${kinds.map((each) => [each, KINDS[each].label])} onChange=${setKind} />
        <p class="muted">${KINDS[kind].use}</p>
        <${ui.Field} label="Name" name="label" required maxlength="100" autocomplete="off" placeholder="Who or what uses it: search page" />
        <fieldset class="choices">
          <legend>Scopes</legend>
          ${Object.entries(SCOPES).map(
            ([scope, text]) => html`
              <label><input type="checkbox" name="scope" value=${scope} checked=${scope === 'read'} /><b>${scope}</b> <span class="muted">${text}</span></label>
            `,
          )}
        </fieldset>
        ${
          kind === 'crew_user' &&
          crew === undefined &&
          html`<${ui.Field} label="Crews" name="crews" autocomplete="off" spellcheck="false" placeholder="Names, with spaces between; empty: all" />`
        }
        <label class="field"><span>Expires</span>
          <select name="days">${LIFETIMES.map(([days, text]) => html`<option value=${days} selected=${days === '365'}>${text}</option>`)}</select>
        </label>
    </${FormDialog}>
  `;
}

/** The body of the request. @param {Kind} kind @param {FormData} fields @param {string | undefined} crew */
function bodyOf(kind, fields, crew) {
  const days = String(fields.get('days'));
  const names = crew === undefined ? String(fields.get('crews') ?? '').split(/[\s,]+/) : [crew];
  const crews = names.filter((name) => name !== '');
  return {
    kind,
    label: fields.get('label'),
    scopes: fields.getAll('scope'),
    ...(kind === 'crew_user' && crews.length > 0 ? { crews } : {}),
    expires_at: days === '' ? null : new Date(Date.now() + Number(days) * 86_400_000).toISOString(),
  };
}

/** @param {{ created: Schemas['CreateKeyResponse']['data'], onClose: () => void }} props */
const Reveal = ({ created, onClose }) => html`
  <${Dialog} title="The new key" onClose=${onClose}>
    <div class="dialog-body">
      <p>Copy the key <b>${created.label}</b> now. It is shown this once: Postback stores its hash only.</p>
      <${ui.Command} label="Key">${created.key}</${ui.Command}>
      <div class="dialog-end"><button type="button" class="primary" onClick=${onClose}>I have stored it</button></div>
    </div>
  </${Dialog}>
`;
