import { INDEXING_STATUS_TABLE } from 'domain/content/states.js';
import { useEffect } from 'preact/hooks';
import { bytes, plural } from '../format.js';
import { html } from '../html.js';
import { useLive } from '../live.js';
import { linkTo } from '../router.js';
import * as ui from '../ui.js';
import { isOpen, uploads, useUploads } from '../uploads.js';

/** @typedef {import('../uploads.js').Upload} Upload */

/** What is sent, and what becomes of it. */
export function UploadList() {
  const list = useUploads();
  const isFollowed = list.some(isOpen);
  const states = useLive(
    (signal) => uploads.readStatuses(signal),
    [],
    () => (list.some(isOpen) ? 1_000 : 0),
  );
  useEffect(() => {
    if (isFollowed) void states.refresh();
  }, [isFollowed]);
  if (list.length === 0) return null;
  const cutOff = list.filter(({ step }) => step === 'cut off');
  return html`
    <section class="card uploads" aria-label="Uploads">
      <header class="card-head">
        <h2>Uploads</h2>
        <span class="muted grow" role="status">${summaryOf(list)}</span>
        <button type="button" class="quiet" onClick=${uploads.clear}>${list.some(isSending) ? 'Stop and clear' : 'Clear the list'}</button>
      </header>
      ${
        cutOff.length > 0 &&
        html`
          <div class="problem" role="alert">
            <span>${plural(cutOff.length, 'upload')} could not be sent: ${cutOff[0]?.fault} The list is kept.</span>
            <button type="button" onClick=${uploads.retry}>Retry</button>
          </div>
        `
      }
      <div class="uploads-list" role="region" aria-label="List of uploads" tabindex="0">
        <ul class="rows">${list.map((upload) => html`<${UploadRow} upload=${upload} />`)}</ul>
      </div>
    </section>
  `;
}

/** @param {Upload} upload */
const isSending = ({ step }) => step === 'checking' || step === 'waiting' || step === 'sending';

/** @param {Upload[]} list */
function summaryOf(list) {
  const sending = list.filter(isSending).length;
  const faulty = list.filter(({ step }) => step === 'refused' || step === 'rejected').length;
  const sent = list.filter(({ step }) => step === 'sent');
  const indexing = sent.filter(isOpen).length;
  return [
    `${sent.length} of ${plural(list.length, 'upload')} sent`,
    sending > 0 && `${sending} to send`,
    indexing > 0 && `${indexing} being indexed`,
    faulty > 0 && `${faulty} not accepted`,
  ]
    .filter(Boolean)
    .join(', ');
}

/** @param {{ upload: Upload }} props */
function UploadRow({ upload }) {
  const { id, name, size, place, step, exists, fault } = upload;
  return html`
    <li>
      <span class="grow">
        ${step === 'sent' ? html`<a href=${linkTo('items', { database: place.database, id, collection: place.collection })}>${name}</a>` : html`<b>${name}</b>`}
        <small> ${bytes(size)}${place.collection !== 'default' && `, ${place.collection}`}</small>
        ${fault && step !== 'cut off' && html`<p class="fault">${fault}</p>`}
      </span>
      ${exists && html`<button type="button" onClick=${() => uploads.replace(upload)}>Replace it</button>`}
      <${UploadState} upload=${upload} />
    </li>
  `;
}

/** @param {{ upload: Upload }} props */
function UploadState({ upload: { name, step, share, unchanged, status } }) {
  if (step === 'sending') {
    return html`<span class="upload-share"><progress max="1" value=${share} aria-label=${`Sent of ${name}`}></progress>${Math.floor(share * 100)} %</span>`;
  }
  if (step === 'sent') {
    return unchanged
      ? html`<${ui.Tag} tone="good">unchanged</${ui.Tag}>`
      : html`<${ui.State} of=${INDEXING_STATUS_TABLE} state=${status} />`;
  }
  if (step === 'refused' || step === 'rejected') return html`<${ui.Tag} tone="bad">not accepted</${ui.Tag}>`;
  return html`<${ui.Tag} tone=${step === 'cut off' ? 'warn' : 'idle'}>${step === 'cut off' ? 'not sent' : 'waiting'}</${ui.Tag}>`;
}
