import { useState } from 'preact/hooks';
import { withQuery } from '../api.js';
import { html } from '../html.js';
import { KINDS, NewKey, RevokeKey, shownKey } from '../keys.js';
import { Table } from '../list.js';
import { useGet } from '../live.js';
import { linkTo } from '../router.js';
import { session } from '../session.js';
import * as ui from '../ui.js';

/** @typedef {import('../keys.js').Key} Key */

const CREW_KINDS = /** @type {Key['kind'][]} */ (['crew_org', 'crew_user']);

/**
 * The keys that a crew takes: those of the organisation, and those of users.
 * @param {{ crew: string }} props
 */
export function CrewKeys({ crew }) {
  const content = session.key('api') === null ? html`<${NoKey} />` : html`<${Keys} crew=${crew} />`;
  return html`<section class="crew-keys" aria-label=${`Keys of ${crew}`}>${content}</section>`;
}

const NoKey = () => html`
  <h2>Keys</h2>
  <p class="muted">A key of kind api with the scope admin shows the keys of this crew, and creates others.</p>
  <p><a href=${linkTo('keys')}>Sign in with one</a></p>
`;

/** @param {{ crew: string }} props */
function Keys({ crew }) {
  const list = useGet(withQuery('/keys', { crew, state: 'active', limit: 100 }), 30_000);
  const [creates, setCreates] = useState(false);
  const [revokes, setRevokes] = useState(/** @type {Key | undefined} */ (undefined));
  /** @type {import('../list.js').Column<Key>[]} */
  const columns = [
    { title: 'Key', cell: (key) => html`${key.label}<small><code>${shownKey(key)}</code></small>` },
    { title: 'For', cell: ({ kind }) => KINDS[kind].label.replace('Crews, ', '') },
    { title: 'Scopes', className: 'wide', cell: ({ scopes }) => scopes.join(', ') },
    { title: 'Last use', className: 'number', cell: ({ last_used_at }) => html`<${ui.Time} at=${last_used_at} />` },
    {
      title: 'Action',
      className: 'number',
      cell: (key) =>
        html`<button type="button" class="quiet" aria-label=${`Revoke ${key.label}`} onClick=${() => setRevokes(key)}>Revoke</button>`,
    },
  ];
  return html`
    <div class="section-head">
      <h2>Keys</h2>
      <button type="button" onClick=${() => setCreates(true)} disabled=${!list.data}>New key</button>
    </div>
    <${ui.Problem} error=${list.error} retry=${list.refresh} />
    ${
      list.data &&
      (list.data.keys.length === 0
        ? html`<p class="muted">No active key can call this crew.</p>`
        : html`<${Table} label="Active keys" columns=${columns} rows=${list.data.keys} id="id" opens=${false} />`)
    }
    ${creates && html`<${NewKey} kinds=${CREW_KINDS} crew=${crew} onClose=${() => setCreates(false)} onCreated=${list.refresh} />`}
    ${revokes && html`<${RevokeKey} of=${revokes} onClose=${() => setRevokes(undefined)} onRevoked=${list.refresh} />`}
  `;
}
