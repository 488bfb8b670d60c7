import { INDEXING_STATUS_TABLE } from 'domain/content/states.js';
import { isFinalState } from 'domain/state-machine.js';
import { useState } from 'preact/hooks';
import { call, withQuery } from '../api.js';
import { DeliveryRows } from '../delivery-rows.js';
import { Confirm } from '../dialogs.js';
import { bytes } from '../format.js';
import { html } from '../html.js';
import { useLive } from '../live.js';
import { closeRecord } from '../router.js';
import * as ui from '../ui.js';
import { Content } from './item-content.js';

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

/**
 * What people know an item by. Ids that nobody has chosen say nothing: without a title, items of a connector are known by their
 * address, and others by the name of their file.
 * @param {Pick<Schemas['Item'], 'id' | 'title' | 'source' | 'additional_metadata'>} item
 */
export function nameOf({ id, title, source: origin, additional_metadata: { connector_id, source } }) {
  if (title !== null) return title;
  if (typeof connector_id === 'string' && typeof source === 'string') return source;
  return id.startsWith('itm_') && origin.kind === 'file' ? origin.filename : id;
}

/** @param {{ database: string, id: string, collection: string | undefined, onDeleted: () => Promise<void> }} props */
export function ItemDrawer({ database, id, collection, onDeleted }) {
  const [deletes, setDeletes] = useState(false);
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
          : await call('GET', withQuery(`/context/${encodeURIComponent(id)}`, { ...place, limit: 1 }), { signal });
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
  const remove = async () => {
    await call('DELETE', '/context', {
      body: { database, collection: data?.status.collection ?? collection, ids: [id] },
    });
    closeRecord();
    await onDeleted();
  };
  const actions = html`
    <${ui.WorkflowLink} attributes=${{ PostbackDatabase: database, PostbackSource: id }} />
    <button type="button" class="quiet" disabled=${!data} onClick=${() => setDeletes(true)}>Delete</button>
  `;
  return html`
    <${ui.Drawer} name="Item" title=${data?.text ? nameOf(data.text) : id} record=${item} retry=${item.refresh} actions=${actions}>
      ${data && html`<${ItemDetails} id=${id} ...${data} />`}
      ${
        deletes &&
        html`
          <${Confirm} title="Delete an item" action="Delete the item" run=${remove} onClose=${() => setDeletes(false)}>
            <p><b>${data?.text ? nameOf(data.text) : id}</b> is deleted with its file, its text and its part of the graph. It cannot be restored.</p>
          </${Confirm}>
        `
      }
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
        : html`<${DeliveryRows} deliveries=${deliveries} nameOf=${(/** @type {Schemas['Delivery']} */ delivery) => delivery.indexing_status} />`
    }
    ${text && html`<${Content} key=${status.served_version} item=${text} />`}
  `;
}

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
