import { useState } from 'preact/hooks';
import { call } from './api.js';
import { Confirm, Dialog, FormDialog } from './dialogs.js';
import { html } from './html.js';
import { useAction } from './live.js';
import { session } from './session.js';
import * as ui from './ui.js';

/** @typedef {import('./api.js').Schemas} Schemas */
/** @typedef {Schemas['Key']} Key */
/** @typedef {Key['kind']} Kind */

/**
 * Kinds of key, in the words of the console: what a key of the kind is for, and what stops when it is revoked.
 * @type {Record<Key['kind'], { label: string, use: string, stops: string }>}
 */
export const KINDS = {
  api: {
    label: 'API',
    use: 'Items, queries, AI jobs, webhooks, connectors, and with the scope admin also keys.',
    stops: 'Its ingests, queries, jobs and event streams',
  },
  crew_org: {
    label: 'Crews, organisation',
    use: 'All crews: kickoff, status, decisions, callbacks.',
    stops: 'Its kickoffs, status requests and decisions',
  },
  crew_user: {
    label: 'Crews, user',
    use: 'For a person: what waits for a decision, and the decision.',
    stops: 'The decisions of whoever has it',
  },
  payment_secret: {
    label: 'Payments, secret',
    use: 'For your server: creates, reads and closes authentications.',
    stops: 'The payments of your server: it creates and reads no authentications',
  },
  payment_publishable: {
    label: 'Payments, publishable',
    use: 'For your web page: submits the eligibility check. It may be public.',
    stops: 'The eligibility checks of pages that carry it',
  },
};

const SCOPES = /** @type {const} */ ({
  read: 'reads and queries',
  write: 'changes',
  admin: 'keys, signing secrets, the audit log',
});

/** The first characters of a key. @param {Key} key */
export const shownKey = ({ prefix }) => `${prefix}…`;

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
              <label><input type="checkbox" name="scope" value=${scope} defaultChecked=${scope === 'read'} /><b>${scope}</b> <span class="muted">${text}</span></label>
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

/**
 * Asks before a key is revoked, and says what stops working.
 * @param {{ of: Key, onClose: () => void, onRevoked: () => Promise<void> }} props
 */
export function RevokeKey({ of: key, onClose, onRevoked }) {
  const revoke = async () => {
    await call('DELETE', `/keys/${encodeURIComponent(key.id)}`);
    if (key.current)
      session.signOut({ slot: 'api', reason: 'You have revoked the key of this tab. Sign in with another one.' });
    else await onRevoked();
  };
  return html`
    <${Confirm} title=${`Revoke ${key.label}?`} action="Revoke" keep="Keep it" run=${revoke} onClose=${onClose}>
      <p>${KINDS[key.kind].stops} stop working at once. This cannot be undone.</p>
      <p>
        ${
          key.last_used_at
            ? html`The key <code>${shownKey(key)}</code> was last used <${ui.Time} at=${key.last_used_at} />.`
            : html`The key <code>${shownKey(key)}</code> has never been used.`
        }
        ${key.current && html` <b>You are signed in with it: this tab asks for another key then.</b>`}
      </p>
    </${Confirm}>
  `;
}
