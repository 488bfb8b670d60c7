import { SYNC_STATUS_TABLE } from 'domain/connectors/states.js';
import { call } from '../api.js';
import { count, plural } from '../format.js';
import { html } from '../html.js';
import { Icon } from '../icons.js';
import { List, useList } from '../list.js';
import { useAction, useLive } from '../live.js';
import { linkTo } from '../router.js';
import * as ui from '../ui.js';

/** @typedef {import('../api.js').Schemas} Schemas */
/** @typedef {{ connector: Schemas['Connector'], status: any }} Row */

const KINDS = /** @type {Record<string, string>} */ ({ web: 'Site', feed: 'Feed', s3: 'Bucket' });
const EXAMPLE = `curl $POSTBACK_URL/connectors -H 'API-Version: 2' -H "Authorization: Bearer $KEY" \\
  -H 'Content-Type: application/json' \\
  -d '{"kind": "feed", "database": "library", "settings": {"url": "https://example.com/feed.xml"}}'`;

/** @param {{ parameters: Record<string, string> }} props */
export function Connectors({ parameters: { id } }) {
  const list = useList('/connectors', { limit: 10 }, 5_000, async (address, signal) => {
    const page = await call('GET', address, { signal });
    const rows = page.connectors.map(async (/** @type {Schemas['Connector']} */ connector) => ({
      id: connector.id,
      connector,
      status: await call('GET', `/connectors/${connector.id}/status?limit=1`, { signal }),
    }));
    return { rows: await Promise.all(rows), next_cursor: page.next_cursor };
  });
  /** @type {import('../list.js').Column<Row>[]} */
  const columns = [
    {
      title: 'Connector',
      cell: ({ connector }) =>
        html`${sourceOf(connector)}<small>${KINDS[connector.kind]} into ${connector.database}/${connector.collection}</small>`,
    },
    { title: 'Last sync', cell: ({ status }) => html`<${SyncState} status=${status} />` },
    { title: 'Changes', className: 'wide', cell: ({ status }) => changesOf(status.last_sync) },
    {
      title: 'Next',
      className: 'number',
      cell: ({ status }) => (status.next_sync_at ? html`<${ui.Time} at=${status.next_sync_at} />` : 'paused'),
    },
  ];
  return html`
    <${ui.Page} title="Connectors" lead="Sites, feeds and buckets that are synced into a database.">
      <${List} label="Connectors" list=${list} rows=${list.data?.rows} columns=${columns} id="id" open=${id}
        empty=${html`
          <${ui.Empty} title="No connector yet. Create one for a site, a feed or a bucket:">
            <${ui.Command}>${EXAMPLE}</${ui.Command}>
            <p>${'All settings are in '}<a href="/docs#/Connectors">the API documentation</a>.</p>
          </${ui.Empty}>
        `} />
      ${id && html`<${ConnectorDrawer} key=${id} id=${id} onChanged=${list.refresh} />`}
    </${ui.Page}>
  `;
}

/** What a connector fetches, in a word. @param {Schemas['Connector']} connector */
export function sourceOf({ settings }) {
  const { url, sitemap, urls, bucket, prefix } = /** @type {Record<string, any>} */ (settings);
  return String(url ?? sitemap ?? urls?.[0] ?? `${bucket}/${prefix ?? ''}`);
}

/** @param {any} sync */
function changesOf(sync) {
  if (!sync) return '–';
  const { unchanged, ...others } = sync.counts;
  const changes = Object.entries(others).filter(([, number]) => number > 0);
  if (changes.length > 0) return changes.map(([name, number]) => `${count(number)} ${name}`).join(', ');
  // A sync that has failed may have compared nothing.
  return unchanged > 0 ? `${count(unchanged)} unchanged` : '–';
}

/** @param {{ status: any }} props */
function SyncState({ status: { syncing, last_sync } }) {
  if (syncing) return html`<${ui.Tag} tone="busy">syncing</${ui.Tag}>`;
  if (!last_sync) return html`<${ui.Tag}>not yet</${ui.Tag}>`;
  const failed = last_sync.status === 'completed' ? last_sync.counts.failed : 0;
  if (failed > 0) return html`<${ui.Tag} tone="warn">${count(failed)} failed</${ui.Tag}>`;
  return html`<${ui.State} of=${SYNC_STATUS_TABLE} state=${last_sync.status} />`;
}

/** @param {{ id: string, onChanged: () => Promise<void> }} props */
function ConnectorDrawer({ id, onChanged }) {
  const path = `/connectors/${encodeURIComponent(id)}`;
  const found = useLive(
    async (signal) => {
      const [connector, status] = await Promise.all([
        call('GET', path, { signal }),
        call('GET', `${path}/status?limit=20`, { signal }),
      ]);
      return { connector: /** @type {Schemas['Connector']} */ (connector), status };
    },
    [id],
    (data) => (data?.status.syncing ? 1_500 : 6_000),
  );
  const { data } = found;
  const sync = useAction(() => call('POST', `${path}/sync`), found.refresh, onChanged);
  const actions = html`
    <${ui.WorkflowLink} attributes=${{ PostbackSource: id }} />
    <${ui.ActionButton} className="primary" run=${sync.run} disabled=${data?.status.syncing ?? true}><${Icon} name="retry" />Sync now</${ui.ActionButton}>
  `;
  return html`
    <${ui.Drawer} name="Connector" title=${data ? sourceOf(data.connector) : 'Connector'} record=${found} error=${sync.error} actions=${actions}>
      ${data && html`<${ConnectorDetails} ...${data} />`}
    </${ui.Drawer}>
  `;
}

/** @param {Row} props */
function ConnectorDetails({ connector, status }) {
  const { last_sync: sync, next_sync_at, errors } = status;
  const { every, unit, paused } = connector.schedule;
  return html`
    ${sync?.error_message && html`<div class="problem tall" role="alert"><strong>${sync.error_code}</strong><span>${sync.error_message}</span></div>`}
    <${ui.Facts} entries=${[
      ['State', html`<${SyncState} status=${status} />`],
      ['Last sync', sync && html`<${ui.Time} at=${sync.started_at} />`],
      [
        'Resources',
        sync &&
          Object.entries(sync.counts)
            .map(([name, number]) => `${count(Number(number))} ${name}`)
            .join(', '),
      ],
      ['Next sync', next_sync_at ? html`<${ui.Time} at=${next_sync_at} />` : 'paused'],
      ['Schedule', paused ? 'paused' : `every ${plural(every, unit.replace(/s$/, ''))}`],
      [
        'Into',
        html`<a href=${linkTo('items', { database: connector.database })}>${connector.database}/${connector.collection}</a>`,
      ],
      ['Credentials', connector.credentials_configured ? 'stored, never shown' : 'none'],
      ['Connector', html`<code>${connector.id}</code>`],
    ]} />
    ${
      errors.length > 0 &&
      html`
        <h3>Resources that could not be fetched</h3>
        <ul class="rows">
          ${errors.map(
            (/** @type {Schemas['SyncError']} */ { resource, error_message, at }) => html`
              <li><span class="grow"><b>${resource}</b><br />${error_message}</span><${ui.Time} at=${at} /></li>
            `,
          )}
        </ul>
      `
    }
    <h3>Settings</h3>
    <${ui.Json} label="Settings" value=${connector.settings} />
  `;
}
