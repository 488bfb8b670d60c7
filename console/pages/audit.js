import { AUDIT_ACTIONS } from 'domain/audit.js';
import { call, withQuery } from '../api.js';
import { html } from '../html.js';
import { useLive } from '../live.js';
import { linkTo } from '../router.js';
import * as ui from '../ui.js';

/** @typedef {import('../api.js').Schemas['AuditEntry']} Entry */

/** Who has no key. @type {Record<Exclude<Entry['actor']['type'], 'key'>, string>} */
const OTHERS = {
  review_link: 'Holder of a review link',
  operator: 'Operator',
  command_line: 'Operator (command line)',
};

/** What administrators and operators have done. */
export function Audit() {
  const pages = ui.usePages([]);
  const path = withQuery('/audit', { limit: 50, cursor: pages.cursor });
  const list = useLive((signal) => call('GET', path, { signal }), [path], 30_000);
  /** @type {import('../ui.js').Column<Entry>[]} */
  const columns = [
    { title: 'What', cell: (entry) => html`<${What} entry=${entry} />` },
    { title: 'Who', cell: ({ actor }) => html`<${Who} actor=${actor} />` },
    { title: 'From', className: 'number wide', cell: ({ address }) => address ?? 'the server' },
    { title: 'When', className: 'number', cell: ({ at }) => html`<${ui.Time} at=${at} />` },
  ];
  return html`
    <${ui.Page} title="Audit" lead="What administrators and operators have done in your organisation. Entries are kept for 90 days.">
      <${ui.Problem} error=${list.error} retry=${list.refresh} />
      ${!list.data && !list.error && html`<${ui.Loading} />`}
      ${
        list.data &&
        (list.data.entries.length === 0
          ? html`<${ui.Empty} title="Nothing in the last 90 days.">Keys, databases, webhooks, signing secrets, connectors and decisions on crews are listed here.</${ui.Empty}>`
          : html`
            <${ui.Table} label="Audit log" columns=${columns} rows=${list.data.entries} keyOf=${(/** @type {Entry} */ { id }) => id} />
            <${ui.Pages} pages=${pages} next=${list.data.next_cursor} />
          `)
      }
    </${ui.Page}>
  `;
}

/** @param {{ actor: Entry['actor'] }} props */
const Who = ({ actor: { type, key_id, label } }) =>
  type === 'key'
    ? html`<a href=${linkTo('keys', { state: 'all', id: key_id })}>${label || key_id}</a>`
    : html`${OTHERS[type]}`;

/** @param {{ entry: Entry }} props */
const What = ({ entry: { action, subject, done } }) => html`
  ${AUDIT_ACTIONS[action]} ${subject.name && html`<b>${subject.name}</b>`}
  ${!done && html` <${ui.Tag} tone="warn">outcome unknown</${ui.Tag}>`}
  ${subject.id && html`<small><code>${subject.id}</code></small>`}
`;
