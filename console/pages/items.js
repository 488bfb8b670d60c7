import { INDEXING_STATUS_TABLE, INDEXING_STATUSES } from 'domain/content/states.js';
import { useState } from 'preact/hooks';
import { call } from '../api.js';
import { CreateDatabase, DatabaseSelect, DeleteDatabase, NoDatabase, useDatabases } from '../databases.js';
import { bytes, count, plural, words } from '../format.js';
import { html } from '../html.js';
import { Icon } from '../icons.js';
import { List, useList } from '../list.js';
import { change, go, linkTo } from '../router.js';
import * as ui from '../ui.js';
import { AddItems } from './add-items.js';
import { ItemDrawer, nameOf } from './item.js';

/** @typedef {import('../api.js').Schemas} Schemas */

/** @param {{ parameters: Record<string, string> }} props */
export function Items({ parameters }) {
  const databases = useDatabases();
  const database = parameters.database ?? databases.data?.[0];
  const [deletes, setDeletes] = useState('');
  const show = (/** @type {string} */ name) => {
    go('items', { database: name, add: '1' });
    return databases.refresh();
  };
  const actions =
    databases.data &&
    html`
      ${databases.data.length > 0 && html`<${DatabaseSelect} databases=${databases.data} value=${database} />`}
      <button type="button" onClick=${() => change({ create: '1' })}>New database</button>
      ${database && html`<button type="button" class="quiet icon-only" aria-label=${`Delete the database ${database}`} title="Delete this database" onClick=${() => setDeletes(database)}><${Icon} name="remove" /></button>`}
      ${database && html`<button type="button" class="primary" onClick=${() => change({ add: '1', id: '' })}>Add items</button>`}
    `;
  return html`
    <${ui.Page} title="Items" actions=${actions}>
      <${ui.Loaded} of=${databases} retry=${databases.refresh} />
      ${databases.data && (database ? html`<${ItemsOf} key=${database} database=${database} parameters=${parameters} />` : html`<${NoDatabase} />`)}
      ${parameters.create && html`<${CreateDatabase} onClose=${() => change({ create: '' })} onReady=${show} />`}
      ${
        deletes &&
        html`
          <${DeleteDatabase} database=${deletes} onClose=${() => setDeletes('')}
            onDeleted=${async () => {
              go('items');
              await databases.refresh();
            }} />
        `
      }
    </${ui.Page}>
  `;
}

/** @param {Record<string, number> | undefined} byStatus */
const hasWork = (byStatus) => Boolean(byStatus?.queued || byStatus?.processing || byStatus?.graph_creation);

/** @param {{ database: string, parameters: Record<string, string> }} props */
function ItemsOf({ database, parameters: { status, id, collection, add } }) {
  const list = useList(
    '/context/list',
    { database, status, limit: 25 },
    (data) => (hasWork(data?.stats.by_status) ? 2_000 : 8_000),
    async (address, signal) => {
      const [page, stats] = await Promise.all([
        call('GET', address, { signal }),
        call('GET', `/databases/${encodeURIComponent(database)}/stats`, { signal }),
      ]);
      return { ...page, stats };
    },
  );
  const { data } = list;
  /** @type {import('../list.js').Column<Schemas['Item']>[]} */
  const columns = [
    {
      title: 'Item',
      cell: (item) => html`${nameOf(item)}${nameOf(item) !== item.id && html`<small>${item.id}</small>`}`,
    },
    { title: 'State', cell: (item) => html`<${ui.State} of=${INDEXING_STATUS_TABLE} state=${item.indexing_status} />` },
    { title: 'Collection', className: 'wide', cell: ({ collection }) => collection },
    { title: 'Size', className: 'wide number', cell: ({ source }) => bytes(source.size) },
    { title: 'Changed', className: 'number', cell: ({ updated_at }) => html`<${ui.Time} at=${updated_at} />` },
  ];
  return html`
    <${AddItems} database=${database} isOpen=${add === '1'} />
    ${data && html`<${Progress} stats=${data.stats} chosen=${status ?? ''} />`}
    <${List} label="Items" list=${list} rows=${data?.items} columns=${columns} id="id" open=${id}
      with=${(/** @type {Schemas['Item']} */ { collection: place }) => ({ database, collection: place })}
      filtered=${status && `No item is ${words(status)}.`} all=${linkTo('items', { database })} empty=${html`<${NoItems} database=${database} />`} />
    ${id && html`<${ItemDrawer} key=${id} database=${database} id=${id} collection=${collection} onDeleted=${list.refresh} />`}
  `;
}

/** @param {{ database: string }} props */
const NoItems = ({ database }) => html`
  <${ui.Empty} title="This database is empty.">
    <p>Drop files or folders here, or <a href=${linkTo('items', { database, add: '1' })}>choose them, or write a note</a>.</p>
    <p>A <a href=${linkTo('connectors')}>connector</a> fetches a site, a feed or a bucket. In a terminal:</p>
    <${ui.Command}>${`./postback ingest examples --database ${database} --watch`}</${ui.Command}>
  </${ui.Empty}>
`;

/** How many items are in each state; each is a filter. @param {{ stats: any, chosen: string }} props */
function Progress({ stats, chosen }) {
  const states = ['', ...INDEXING_STATUSES].filter(
    (state) => state === '' || state === chosen || stats.by_status[state],
  );
  return html`
    <div class="filters" role="group" aria-label="State">
      ${states.map(
        (state) => html`
          <button type="button" class="chip" aria-pressed=${state === chosen ? 'true' : 'false'} onClick=${() => change({ status: state, id: '' })}>
            ${state === '' ? 'All' : html`<${ui.State} of=${INDEXING_STATUS_TABLE} state=${state} />`}
            <span class="number">${count(state === '' ? stats.items : (stats.by_status[state] ?? 0))}</span>
          </button>
        `,
      )}
      <span class="muted grow-end">${plural(stats.chunks, 'chunk')}, ${bytes(stats.bytes)}</span>
    </div>
  `;
}
