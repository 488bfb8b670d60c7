import { KEY_STATE_TABLE } from 'domain/key-states.js';
import { useState } from 'preact/hooks';
import { html } from '../html.js';
import { KINDS, NewKey, RevokeKey, shownKey } from '../keys.js';
import { List, useList } from '../list.js';
import { useGet } from '../live.js';
import { linkTo } from '../router.js';
import * as ui from '../ui.js';

/** @typedef {import('../keys.js').Key} Key */

const ALL_KINDS = /** @type {Key['kind'][]} */ (Object.keys(KINDS));
/** The list begins with the keys that can be used. */
const STATES = ui.stateChoices(KEY_STATE_TABLE).map(([state, label]) => [state || 'all', label]);
const KIND_CHOICES = [['', 'All kinds'], ...ALL_KINDS.map((kind) => [kind, KINDS[kind].label])];

/** @param {{ parameters: Record<string, string> }} props */
export function Keys({ parameters: { state = 'active', kind = '', id } }) {
  const [creates, setCreates] = useState(false);
  const list = useList('/keys', { state: state === 'all' ? '' : state, kind, limit: 20 }, 30_000);
  /** @type {import('../list.js').Column<Key>[]} */
  const columns = [
    {
      title: 'Key',
      cell: (key) =>
        html`${key.label || 'without a name'}${key.current && ' (this one)'}<small><code>${shownKey(key)}</code></small>`,
    },
    { title: 'Kind', cell: (key) => KINDS[key.kind].label },
    { title: 'Scopes', className: 'wide', cell: ({ scopes }) => scopes.join(', ') },
    {
      title: 'State',
      className: 'wide',
      cell: (key) => html`<${ui.State} of=${KEY_STATE_TABLE} state=${key.state} />`,
    },
    { title: 'Expires', className: 'number wide', cell: ({ expires_at }) => html`<${Expiry} at=${expires_at} />` },
    { title: 'Last use', className: 'number', cell: ({ last_used_at }) => html`<${LastUse} at=${last_used_at} />` },
  ];
  return html`
    <${ui.Page} title="Keys" lead="Who and what may use Postback for your organisation. A key is shown once, when it is created."
      actions=${html`<button type="button" class="primary" disabled=${!list.data} onClick=${() => setCreates(true)}>New key</button>`}>
      <div class="filters">
        <${ui.Filter} label="State" name="state" value=${state} options=${STATES} />
        <${ui.Filter} label="Kind" name="kind" value=${kind} options=${KIND_CHOICES} />
      </div>
      <${List} label="Keys" list=${list} rows=${list.data?.keys} columns=${columns} id="id" open=${id}
        empty=${html`<${ui.Empty} title="No such key.">Choose another state or kind.</${ui.Empty}>`} />
      ${id && html`<${KeyDrawer} key=${id} id=${id} onChanged=${list.refresh} />`}
      ${creates && html`<${NewKey} kinds=${ALL_KINDS} onClose=${() => setCreates(false)} onCreated=${list.refresh} />`}
    </${ui.Page}>
  `;
}

/** @param {{ at: string | null }} props */
const Expiry = ({ at }) => (at ? html`<${ui.Time} at=${at} />` : 'never');

/** @param {{ at: string | null }} props */
const LastUse = ({ at }) => (at ? html`<${ui.Time} at=${at} />` : 'not yet');

/** @param {{ id: string, onChanged: () => Promise<void> }} props */
function KeyDrawer({ id, onChanged }) {
  /** @type {import('../live.js').Live<Key>} */
  const found = useGet(`/keys/${encodeURIComponent(id)}`, 30_000);
  const [revokes, setRevokes] = useState(false);
  const key = found.data;
  const revoke =
    key?.state === 'active' &&
    html`<button type="button" class="danger" onClick=${() => setRevokes(true)}>Revoke</button>`;
  const onRevoked = async () => {
    await Promise.all([found.refresh(), onChanged()]);
  };
  return html`
    <${ui.Drawer} name="Key" title=${key?.label || 'Key'} record=${found} actions=${revoke}>
      ${
        key &&
        html`
          <${ui.Facts} entries=${[
            ['State', html`<${ui.State} of=${KEY_STATE_TABLE} state=${key.state} />`],
            ['Key', html`<code>${shownKey(key)}</code>`],
            ['Kind', KINDS[key.kind].label],
            ['Use', KINDS[key.kind].use],
            ['Scopes', key.scopes.join(', ')],
            ['Crews', key.kind === 'crew_user' && (key.crews?.join(', ') ?? 'all')],
            ['Last use', html`<${LastUse} at=${key.last_used_at} />`],
            ['Expires', html`<${Expiry} at=${key.expires_at} />`],
            ['Revoked', key.revoked_at && html`<${ui.Time} at=${key.revoked_at} />`],
            ['Created', html`<${ui.Time} at=${key.created_at} />`],
            [
              'Created by',
              key.created_by
                ? html`<a href=${linkTo('keys', { state: 'all', id: key.created_by })}>another key</a>`
                : 'an operator',
            ],
            ['Id', html`<code>${key.id}</code>`],
          ]} />
          <p class="after-facts"><a href=${linkTo('audit')}>The audit log, with who has created and revoked keys</a></p>
        `
      }
      ${key && revokes && html`<${RevokeKey} of=${key} onClose=${() => setRevokes(false)} onRevoked=${onRevoked} />`}
    </${ui.Drawer}>
  `;
}
