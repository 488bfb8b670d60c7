import { isFinalState } from 'domain/state-machine.js';
import { DELIVERY_STATE_TABLE, RETRYABLE_DELIVERY_STATES } from 'domain/webhooks/states.js';
import { useState } from 'preact/hooks';
import { call } from '../api.js';
import { Dialog } from '../dialogs.js';
import { SentRequestDetails, VerifySample } from '../exchange.js';
import { duration, plural, words } from '../format.js';
import { html } from '../html.js';
import { Icon } from '../icons.js';
import { List, useList } from '../list.js';
import { useAction, useGet, useLive } from '../live.js';
import { change, linkTo } from '../router.js';
import { isUserKey, session } from '../session.js';
import * as ui from '../ui.js';

/** @typedef {import('../api.js').Schemas} Schemas */

const PATH = '/deliveries';
const KINDS = /** @type {[string, string][]} */ ([
  ['', 'Everything'],
  ['item', 'Items'],
  ['job', 'Jobs'],
  ['crew', 'Crews'],
  ['authentication', 'Authentications'],
]);
const NAMES = /** @type {Record<string, string>} */ ({
  item: 'Item',
  job: 'AI job',
  crew: 'Crew',
  authentication: 'Authentication',
});
/** Kinds by event; every other event is of a crew. @type {Record<string, string>} */
const KIND_OF_EVENT = {
  'indexing.status_changed': 'item',
  async_job_completed: 'job',
  'authentication.ended': 'authentication',
};
const STATES = ui.stateChoices(DELIVERY_STATE_TABLE);

const REPLAYED = STATES.filter(([state]) => RETRYABLE_DELIVERY_STATES.some((retryable) => retryable === state));

/** @param {{ parameters: Record<string, string> }} props */
export function Deliveries({ parameters }) {
  const { kind = '', status = '', doc_id = '', error_code = '', id } = parameters;
  const [replays, setReplays] = useState(false);
  const filters = { kind, status, doc_id, error_code };
  const list = useList(PATH, { ...filters, limit: 25 }, 4_000);
  const showsItems = kind === '' || kind === 'item';
  const actions =
    showsItems &&
    html`<button type="button" onClick=${() => setReplays(true)}><${Icon} name="retry" />Replay many</button>`;
  return html`
    <${ui.Page} title="Deliveries" actions=${actions}>
      ${showsItems && html`<${Registration} />`}
      <div class="filters">
        <${ui.Filter} label="About" name="kind" value=${kind} options=${KINDS} />
        <${ui.Filter} label="State" name="status" value=${status} options=${STATES} />
        <${TextFilter} label="Id" name="doc_id" value=${doc_id} />
        <${TextFilter} label="Error code" name="error_code" value=${error_code} placeholder="HTTP_503" />
      </div>
      <${List} label="Deliveries" list=${list} rows=${list.data?.deliveries} columns=${COLUMNS} id="delivery_id" open=${id}
        filtered=${Object.values(filters).some(Boolean) && 'No delivery matches.'} all=${linkTo('deliveries')} empty=${html`<${NoDeliveries} />`} />
      ${id && html`<${DeliveryDrawer} key=${id} path=${`${PATH}/${encodeURIComponent(id)}`} onChanged=${list.refresh} />`}
      ${replays && html`<${Replay} onClose=${() => setReplays(false)} onSent=${list.refresh} />`}
    </${ui.Page}>
  `;
}

/** @param {{ label: string, name: string, value: string, placeholder?: string }} props */
const TextFilter = ({ name, ...field }) => html`
  <${ui.CompleteField} ...${field} spellcheck="false" onChange=${(/** @type {string} */ value) => change({ [name]: value.trim(), id: '' })} />
`;

/** Where webhooks go. */
function Registration() {
  const { data } = useGet('/webhooks/indexing', 15_000);
  if (!data) return null;
  if (!data.registered) {
    return html`
      <div class="notice">
        <span>No receiver is registered, so items are indexed without webhooks. <a href=${linkTo('webhooks')}>Register one</a>, or try it on this machine:</span>
        <${ui.Command}>./postback listen --register</${ui.Command}>
      </div>
    `;
  }
  if (data.disabled_at) {
    return html`<div class="problem" role="alert"><span>Webhooks to ${data.url} are disabled: ${data.disabled_reason}</span><a href=${linkTo('webhooks')}>Enable them</a></div>`;
  }
  return html`<p class="lead">Webhooks go to <code>${data.url}</code>. <a href=${linkTo('webhooks')}>Change or test it</a></p>`;
}

const NoDeliveries = () =>
  html`<${ui.Empty} title="No deliveries yet.">Webhooks of items and callbacks of jobs and crews are listed here with every attempt.</${ui.Empty}>`;

/** @type {import('../list.js').Column<Schemas['Delivery']>[]} */
const COLUMNS = [
  {
    title: 'About',
    cell: (delivery) => html`${titleOf(delivery)}<small>${NAMES[kindOf(delivery)]}, ${eventOf(delivery)}</small>`,
  },
  { title: 'State', cell: ({ status }) => html`<${ui.State} of=${DELIVERY_STATE_TABLE} state=${status} />` },
  {
    title: 'Last error',
    className: 'wide',
    cell: ({ error_code }) => error_code && html`<code>${error_code}</code>`,
  },
  { title: 'Attempts', className: 'number wide', cell: ({ attempts }) => attempts },
  { title: 'Changed', className: 'number', cell: ({ updated_at }) => html`<${ui.Time} at=${updated_at} />` },
];

/** @param {Schemas['Delivery']} delivery */
const kindOf = ({ event_type }) => KIND_OF_EVENT[event_type] ?? 'crew';
/** What people know it by: ids of executions are long and say nothing. @param {Schemas['Delivery']} delivery */
const titleOf = ({ crew, doc_id }) => crew ?? doc_id;
/** @param {Schemas['Delivery']} delivery */
const eventOf = ({ indexing_status, event_type }) =>
  indexing_status ?? (KIND_OF_EVENT[event_type] ? 'ended' : words(event_type));

/** @param {string} path @param {AbortSignal} signal @returns {Promise<Schemas['DeliveryDetail']>} */
async function loadDelivery(path, signal) {
  const found = await call('GET', path, { signal });
  const key = keyFor(found);
  return key ? call('GET', path, { key, signal }) : found;
}

/** The key of the session that reads the body of a callback and retries it, where the key for items and jobs does not. @param {Schemas['Delivery']} delivery */
function keyFor(delivery) {
  const crewKey = session.key('crew');
  switch (kindOf(delivery)) {
    case 'crew':
      return crewKey !== null && !isUserKey(crewKey) ? crewKey : undefined;
    case 'authentication':
      return session.key('payment') ?? undefined;
    default:
      return undefined;
  }
}

/** @param {{ path: string, onChanged: () => Promise<void> }} props */
function DeliveryDrawer({ path, onChanged }) {
  const delivery = useLive(
    (signal) => loadDelivery(path, signal),
    [path],
    (data) => (data && isFinalState(DELIVERY_STATE_TABLE, data.status) ? 8_000 : 1_500),
  );
  const { data } = delivery;
  const retry = useAction(
    () => call('POST', `${path}/retry`, { key: data ? keyFor(data) : undefined }),
    delivery.refresh,
    onChanged,
  );
  const actions = html`
    ${data?.workflow && html`<${ui.WorkflowLink} attributes=${{ WorkflowId: data.workflow }} />`}
    ${data && DELIVERY_STATE_TABLE[data.status].retryable && html`<${ui.ActionButton} className="primary" run=${retry.run}><${Icon} name="retry" />Retry now</${ui.ActionButton}>`}
  `;
  return html`
    <${ui.Drawer} name="Delivery" title=${data ? titleOf(data) : 'Delivery'} record=${delivery} error=${retry.error} actions=${actions}>
      ${data && html`<${DeliveryDetails} delivery=${data} />`}
    </${ui.Drawer}>
  `;
}

/** Where the console shows what a delivery is about. @param {Schemas['DeliveryDetail']} delivery */
function linkToSource({ doc_id, crew, payload, event_type }) {
  if (crew) return linkTo('crews', { run: crew, id: doc_id });
  if (event_type === 'authentication.ended') return linkTo('payments', { id: doc_id });
  if (event_type === 'async_job_completed') return linkTo('jobs', { id: doc_id });
  const [database, collection] = [payload?.database, payload?.collection].map((name) =>
    typeof name === 'string' ? name : undefined,
  );
  return event_type === 'indexing.status_changed' ? linkTo('items', { database, collection, id: doc_id }) : null;
}

/** Why a delivery has no body to show. @param {{ kind: string, source: string | null }} props */
const NoBody = ({ kind, source }) =>
  kind === 'job'
    ? html`<p class="muted">The body is the job itself, with its event: <a href=${source}>open the job</a>.</p>`
    : html`<p class="muted">${kind === 'crew' ? html`The body is shown with a key for crews: <a href=${linkTo('crews')}>add one</a>.` : html`The body is shown with a key for payments: <a href=${linkTo('payments')}>add one</a>.`}</p>`;

/** @param {{ delivery: Schemas['DeliveryDetail'] }} props */
function DeliveryDetails({ delivery }) {
  const {
    delivery_id,
    status,
    url,
    payload,
    request,
    attempt_log,
    next_attempt_at,
    item_error_code,
    item_error_message,
  } = delivery;
  const kind = kindOf(delivery);
  const source = linkToSource(delivery);
  return html`
    <${ui.Facts} entries=${[
      ['State', html`<${ui.State} of=${DELIVERY_STATE_TABLE} state=${status} />`],
      ['Next attempt', status === 'failed' && html`<${ui.Time} at=${next_attempt_at} />`],
      ['Receiver', url && html`<code>${url}</code>`],
      ['Event', `${NAMES[kind]}, ${eventOf(delivery)}`],
      [
        kind === 'crew' ? 'Execution' : (NAMES[kind] ?? ''),
        source ? html`<a href=${source}>${delivery.doc_id}</a>` : delivery.doc_id,
      ],
      ['Item error', item_error_code && `${item_error_code}: ${item_error_message}`],
      ['Created', html`<${ui.Time} at=${delivery.created_at} />`],
      ['Delivery', html`<code>${delivery_id}</code>`],
    ]} />
    <h3>Attempts</h3>
    ${attempt_log.length === 0 ? html`<p class="muted">Not sent yet.</p>` : html`<${Timeline} attempts=${attempt_log} />`}
    <h3>Request</h3>
    ${
      request
        ? html`
          <${SentRequestDetails} request=${request} />
          <details>
            <summary>Verify this delivery</summary>
            <${VerifySample} request=${request} />
          </details>
        `
        : payload
          ? html`<${ui.Json} label="Request body" value=${payload} />`
          : html`<${NoBody} kind=${kind} source=${source} />`
    }
  `;
}

/** @param {number | null} status */
const succeeded = (status) => status !== null && status >= 200 && status < 300;

/** The attempts, newest first, with the receiver's responses. @param {{ attempts: Schemas['DeliveryAttempt'][] }} props */
const Timeline = ({ attempts }) => html`
  <ol class="timeline">
    ${attempts
      .map((attempt, index) => ({ ...attempt, number: index + 1 }))
      .reverse()
      .map(
        ({ at, status_code, duration_ms, error, answer, number }) => html`
          <li class=${succeeded(status_code) ? 'good' : 'bad'} key=${at}>
            <div class="timeline-head">
              <strong>${status_code ?? 'no response'}</strong>
              <span class="muted">attempt ${number}, ${duration(duration_ms)}</span>
              <${ui.Time} at=${at} />
            </div>
            ${error && html`<p>${error}</p>`}
            ${answer && html`<details open=${!succeeded(status_code)}><summary>Response</summary><${ui.Block} label="Response of the receiver">${answer}</${ui.Block}></details>`}
          </li>
        `,
      )}
  </ol>
`;

const PERIODS = /** @type {[string, string][]} */ ([
  ['', 'Any time'],
  ['1', 'Last hour'],
  ['24', 'Last day'],
  ['168', 'Last week'],
]);

const REPLAY = '/webhooks/indexing/deliveries/retry';

/** Sends failed deliveries again: first how many, then the rest. @param {{ onClose: () => void, onSent: () => Promise<void> }} props */
function Replay({ onClose, onSent }) {
  const [filter, setFilter] = useState({ status: 'permanently_failed', hours: '', error_code: '' });
  const [replay, setReplay] = useState(/** @type {string | undefined} */ (undefined));
  const preview = useLive((signal) => call('POST', REPLAY, { body: bodyOf(filter, true), signal }), [filter], 0);
  const matching = preview.data?.matching;
  /** @param {Partial<typeof filter>} changed */
  const set = (changed) => setFilter({ ...filter, ...changed });
  const send = useAction(async () => {
    setReplay((await call('POST', REPLAY, { body: bodyOf(filter, false) })).replay_id);
    await onSent();
  });
  if (replay) {
    return html`<${Dialog} title="Replay" onClose=${onClose}><${ReplayProgress} id=${replay} /></${Dialog}>`;
  }
  return html`
    <${Dialog} title="Replay many deliveries" onClose=${onClose}>
      <div class="dialog-body">
        <p>Failed webhooks of items are sent again, oldest first, at the pace of the receiver.</p>
        <div class="filters">
          <${ui.Select} label="State" value=${filter.status} options=${REPLAYED}
            onChange=${(/** @type {string} */ status) => set({ status })} />
          <${ui.Select} label="Created" value=${filter.hours} options=${PERIODS} onChange=${(/** @type {string} */ hours) => set({ hours })} />
          <${ui.CompleteField} label="Error code" value=${filter.error_code} placeholder="HTTP_503" spellcheck="false"
            onChange=${(/** @type {string} */ code) => set({ error_code: code.trim() })} />
        </div>
        <${ui.Problem} error=${send.error ?? preview.error} />
        <p class="preview" role="status">${matching === undefined ? 'Counting …' : matching === 0 ? 'No delivery matches.' : html`<strong>${plural(matching, 'delivery', 'deliveries')}</strong> will be sent again.`}</p>
        <div class="dialog-end">
          <${ui.ActionButton} className="primary" run=${send.run} disabled=${!matching}>${matching ? `Send ${plural(matching, 'delivery', 'deliveries')}` : 'Send'}</${ui.ActionButton}>
        </div>
      </div>
    </${Dialog}>
  `;
}

/** @param {{ status: string, hours: string, error_code: string }} filter @param {boolean} dryRun */
function bodyOf({ status, hours, error_code }, dryRun) {
  return {
    dry_run: dryRun,
    ...(status ? { status } : {}),
    ...(hours ? { from: new Date(Date.now() - Number(hours) * 3_600_000).toISOString() } : {}),
    ...(error_code ? { error_code } : {}),
  };
}

/** @param {{ id: string }} props */
function ReplayProgress({ id }) {
  const { data, error } = useGet(`/webhooks/indexing/replays/${id}`, (found) =>
    found?.status === 'running' || !found ? 1_000 : 0,
  );
  return html`
    <div class="dialog-body" role="status">
      <${ui.Problem} error=${error} />
      ${
        data &&
        html`
          <progress max=${Math.max(1, data.matching)} value=${data.status === 'running' ? data.requeued : Math.max(1, data.matching)} aria-label="Queued again"></progress>
          <p><strong>${plural(data.requeued, 'delivery', 'deliveries')}</strong> queued again${data.status === 'running' ? ' so far.' : '. The list shows what becomes of them.'}</p>
        `
      }
    </div>
  `;
}
