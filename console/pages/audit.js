import { AUDIT_ACTIONS } from 'domain/audit.js';
import { html } from '../html.js';
import { List, useList } from '../list.js';
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
  const list = useList('/audit', { limit: 50 }, 30_000);
  /** @type {import('../list.js').Column<Entry>[]} */
  const columns = [
    { title: 'What', cell: (entry) => html`<${What} entry=${entry} />` },
    { title: 'Who', cell: ({ actor }) => html`<${Who} actor=${actor} />` },
    { title: 'From', className: 'number wide', cell: ({ address }) => address ?? 'the server' },
    { title: 'When', className: 'number', cell: ({ at }) => html`<${ui.Time} at=${at} />` },
  ];
  return html`
    <${ui.Page} title="Audit" lead="What administrators and operators have done in your organisation. Entries are kept for 90 days.">
      <${List} label="Audit log" list=${list} rows=${list.data?.entries} columns=${columns} id="id" opens=${false}
        empty=${html`<${ui.Empty} title="Nothing in the last 90 days.">Keys, databases, webhooks, signing secrets, connectors and decisions on crews are listed here.</${ui.Empty}>`} />
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
