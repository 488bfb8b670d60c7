import { INDEXING_STATUS_TABLE, INDEXING_STATUSES } from 'domain/content/states.js';
import { isFinalState } from 'domain/state-machine.js';
import { DELIVERY_STATE_TABLE } from 'domain/webhooks/states.js';
import { call, withQuery } from '../api.js';
import { DatabaseSelect, NoDatabase, useDatabases } from '../databases.js';
import { bytes, count, plural, words } from '../format.js';
import { html } from '../html.js';
import { useLive } from '../live.js';
import { change, linkTo } from '../router.js';
import * as ui from '../ui.js';

/** @typedef {import('../api.js').Schemas} Schemas */

/** An item's steps. */
const STEP_NAMES = /** @type {Record<string, string>} */ ({
  queued: 'Queued',
  processing: 'Text and index',
  graph_creation: 'Graph',
  completed: 'Completed',
});
const STEPS = Object.keys(STEP_NAMES);

/** What a person can do about an item's error. @type {Record<string, string>} */
const REMEDIES = {
  E1002: 'Convert the file to one of the accepted formats, and ingest it again.',
  E2001: 'Open the file in its own program, save it again, and ingest that copy.',
  E2002: 'Remove the password, and ingest the file again.',
  E2003: 'Split the file, and ingest its parts.',
  E2004: 'Check that the file has text. A photo of text needs a higher resolution.',
  E2005: 'Nothing: the item was deleted. Ingest it again if you still need it.',
  E3001: 'Ask the operator whether the embedding model can be reached, then ingest the item again with upsert.',
  E6001: 'Nothing: the item is retried until storage is available.',
};

/** @param {{ parameters: Record<string, string> }} props */
export function Items({ parameters }) {
  const databases = useDatabases();
  const database = parameters.database ?? databases.data?.[0];
  const choose =
    databases.data &&
    databases.data.length > 0 &&
    html`<${DatabaseSelect} databases=${databases.data} value=${database} />`;
  return html`
    <${ui.Page} title="Items" actions=${choose}>
      <${ui.Problem} error=${databases.error} retry=${databases.refresh} />
      ${!databases.data && !databases.error && html`<${ui.Loading} />`}
      ${databases.data && (database ? html`<${ItemsOf} database=${database} parameters=${parameters} />` : html`<${NoDatabase} />`)}
    </${ui.Page}>
  `;
}

/** @param {Record<string, number> | undefined} byStatus */
const hasWork = (byStatus) => Boolean(byStatus?.queued || byStatus?.processing || byStatus?.graph_creation);

/** @param {{ database: string, parameters: Record<string, string> }} props */
function ItemsOf({ database, parameters: { status, id, collection } }) {
  const pages = ui.usePages([database, status]);
  const path = withQuery('/context/list', { database, status, limit: 25, cursor: pages.cursor });
  const list = useLive(
    async (signal) => {
      const [page, stats] = await Promise.all([
        call('GET', path, { signal }),
        call('GET', `/databases/${encodeURIComponent(database)}/stats`, { signal }),
      ]);
      return { page, stats };
    },
    [path],
    (data) => (hasWork(data?.stats.by_status) ? 2_000 : 8_000),
  );
  const { data } = list;
  /** @type {import('../ui.js').Column<Schemas['Item']>[]} */
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
    <${ui.Problem} error=${list.error} retry=${list.refresh} />
    ${!data && !list.error && html`<${ui.Loading} />`}
    ${data && html`<${Progress} stats=${data.stats} chosen=${status ?? ''} />`}
    ${
      data &&
      (data.page.items.length === 0
        ? html`<${NoItems} database=${database} status=${status} />`
        : html`
          <${ui.Table} label="Items" columns=${columns} rows=${data.page.items} open=${id}
            keyOf=${(/** @type {Schemas['Item']} */ item) => item.id}
            hrefOf=${(/** @type {Schemas['Item']} */ item) => linkTo('items', { database, status, id: item.id, collection: item.collection })} />
          <${ui.Pages} pages=${pages} next=${data.page.next_cursor} />
        `)
    }
    ${id && html`<${ItemDrawer} key=${id} database=${database} id=${id} collection=${collection} />`}
  `;
}

/**
 * What people know an item by. Ids of a connector's items say nothing: without a title, they are known by their address.
 * @param {Pick<Schemas['Item'], 'id' | 'title' | 'additional_metadata'>} item
 */
function nameOf({ id, title, additional_metadata: { connector_id, source } }) {
  return title ?? (typeof connector_id === 'string' && typeof source === 'string' ? source : id);
}

/** @param {{ database: string, status: string | undefined }} props */
const NoItems = ({ database, status }) =>
  status
    ? html`<${ui.Empty} title=${`No item is ${words(status)}.`}><a href=${linkTo('items', { database })}>Show all items</a></${ui.Empty}>`
    : html`
        <${ui.Empty} title="This database is empty. Ingest files, folders or text:">
          <${ui.Command}>${`./postback ingest examples --database ${database} --watch`}</${ui.Command}>
          <p>Or let a <a href=${linkTo('connectors')}>connector</a> fetch a site, a feed or a bucket.</p>
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

/** @param {{ database: string, id: string, collection: string | undefined }} props */
function ItemDrawer({ database, id, collection }) {
  const place = { database, collection };
  const item = useLive(
    async (signal) => {
      const { statuses } = await call('GET', withQuery('/context/status', { ...place, id }), { signal });
      /** @type {Schemas['ItemStatus']} */
      const status = statuses[0];
      // Until the first version is complete the item has no text to show.
      const text =
        status.served_version === null
          ? null
          : await call('GET', withQuery(`/context/${encodeURIComponent(id)}`, { ...place, limit: 5 }), { signal });
      const { deliveries } = await call(
        'GET',
        withQuery('/webhooks/indexing/deliveries', { doc_id: id, database, limit: 5 }),
        { signal },
      );
      return { status, text, deliveries };
    },
    [database, collection, id],
    (data) => (data && isFinalState(INDEXING_STATUS_TABLE, data.status.indexing_status ?? 'queued') ? 10_000 : 1_500),
  );
  const { data } = item;
  const close = () => change({ id: '', collection: '' });
  const link = html`<${ui.WorkflowLink} attributes=${{ PostbackDatabase: database, PostbackSource: id }} />`;
  return html`
    <${ui.Drawer} name="Item" title=${data?.text ? nameOf(data.text) : id} onClose=${close} actions=${link}>
      <${ui.Problem} error=${item.error} retry=${item.refresh} />
      ${!data && !item.error && html`<${ui.Loading} />`}
      ${data && html`<${ItemDetails} id=${id} ...${data} />`}
    </${ui.Drawer}>
  `;
}

/** @param {{ id: string, status: Schemas['ItemStatus'], text: Schemas['ItemDetail'] | null, deliveries: Schemas['Delivery'][] }} props */
function ItemDetails({ id, status, text, deliveries }) {
  const { indexing_status, error_code, error_message } = status;
  return html`
    <${Steps} status=${indexing_status ?? ''} failedStep=${status.failed_step} />
    ${
      error_message &&
      html`
        <div class="problem tall" role="alert">
          <strong>${error_code}</strong>
          <span>${error_message}</span>
          ${error_code && REMEDIES[error_code] && html`<p><b>What to do: </b>${REMEDIES[error_code]}</p>`}
          ${status.served_version !== null && html`<p>Searches still return version ${status.served_version}.</p>`}
        </div>
      `
    }
    <${ui.Facts} entries=${[
      ['Id', html`<code>${id}</code>`],
      ['Collection', status.collection],
      [
        'Version',
        status.version === status.served_version
          ? status.version
          : `${status.version} (searched: ${status.served_version ?? 'none'})`,
      ],
      ['Source', text && (text.source.kind === 'file' ? `${text.source.filename}, ${text.source.mime_type}` : 'text')],
      ['Size', text && bytes(text.source.size)],
      ['Ingested', html`<${ui.Time} at=${status.created_at} />`],
      ['Changed', html`<${ui.Time} at=${status.updated_at} />`],
    ]} />
    <h3>Webhooks</h3>
    ${
      deliveries.length === 0
        ? html`<p class="muted">None: no receiver was registered when the item ended, or it has not ended.</p>`
        : html`
          <ul class="rows">
            ${deliveries.map(
              (delivery) => html`
                <li>
                  <a href=${linkTo('deliveries', { id: delivery.delivery_id })}>${delivery.indexing_status}</a>
                  <span class="grow"><${ui.State} of=${DELIVERY_STATE_TABLE} state=${delivery.status} /></span>
                  <${ui.Time} at=${delivery.updated_at} />
                </li>
              `,
            )}
          </ul>
        `
    }
    ${text && html`<h3>Text</h3>${text.chunks.map((chunk) => html`<${Chunk} chunk=${chunk} />`)}`}
    ${text?.next_cursor && html`<p class="muted">The first ${text.chunks.length} chunks.</p>`}
  `;
}

/** @param {{ chunk: Schemas['ItemChunk'] }} props */
const Chunk = ({ chunk }) => html`
  <div class="chunk">
    <small>${[...chunk.headings, chunk.page && `page ${chunk.page}`, chunk.slide && `slide ${chunk.slide}`, chunk.sheet].filter(Boolean).join(' › ')}</small>
    <${ui.Block} label="Text of a chunk">${chunk.text}</${ui.Block}>
  </div>
`;

/**
 * Where the item is on its way, or where it failed.
 * @param {{ status: string, failedStep: string | null }} props
 */
function Steps({ status, failedStep }) {
  const failed = status === 'errored';
  const at = STEPS.indexOf(failed ? (failedStep ?? '') : status);
  return html`
    <ol class="steps ${status}">
      ${STEPS.map((step, index) => {
        const isHere = index === at && status !== 'completed';
        const state = isHere ? (failed ? 'failed' : 'current') : index < at || status === 'completed' ? 'done' : '';
        return html`<li class=${state} aria-current=${isHere ? 'step' : undefined}>${STEP_NAMES[step]}${isHere && failed && ': failed'}</li>`;
      })}
      ${failed && at < 0 && html`<li class="failed" aria-current="step">Failed</li>`}
    </ol>
  `;
}
