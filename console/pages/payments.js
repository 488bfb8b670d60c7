import { AUTHENTICATION_STATE_TABLE } from 'domain/payments/states.js';
import { isFinalState } from 'domain/state-machine.js';
import { call } from '../api.js';
import { html } from '../html.js';
import { List, useList } from '../list.js';
import { useAction, useGet } from '../live.js';
import { linkTo } from '../router.js';
import { SigningSecret } from '../signing-secret.js';
import * as ui from '../ui.js';

/** @typedef {import('../api.js').Schemas} Schemas */
/** @typedef {Pick<Schemas['Authentication'], 'authentication_id' | 'status' | 'amount' | 'currency' | 'created_at'> & { sdk_next_action: string | null }} Row */

const STATES = ui.stateChoices(AUTHENTICATION_STATE_TABLE);

/** @param {{ parameters: Record<string, string> }} props */
export function Payments({ parameters: { status = '', id } }) {
  const list = useList('/authentication', { status, limit: 25 }, 4_000, (address, signal) =>
    call('GET', address, { as: 'payment', signal }),
  );
  /** @type {import('../list.js').Column<Row>[]} */
  const columns = [
    { title: 'Authentication', cell: (row) => html`${amountOf(row)}<small>${row.authentication_id}</small>` },
    { title: 'State', cell: (row) => html`<${ui.State} of=${AUTHENTICATION_STATE_TABLE} state=${row.status} />` },
    { title: 'Check', className: 'wide', cell: (row) => row.sdk_next_action?.replaceAll('_', ' ') ?? '–' },
    { title: 'Created', className: 'number', cell: (row) => html`<${ui.Time} at=${row.created_at} />` },
  ];
  return html`
    <${ui.Page} title="Payments" lead="Authentications, and what their eligibility checks decided.">
      <div class="filters">
        <${ui.Filter} label="State" name="status" value=${status} options=${STATES} />
      </div>
      <${List} label="Authentications" list=${list} rows=${list.data?.authentications} columns=${columns} id="authentication_id" open=${id}
        filtered=${status !== '' && 'No authentication is in this state.'} all=${linkTo('payments')} empty=${html`<${NoPayments} />`} />
      <section class="card signing-card" aria-label="Signing secret">
        <h2>Signing secret of the callbacks</h2>
        <${SigningSecret} path="/authentication/signing-secret" as="payment" signs="callbacks to webhook_url" canDelete=${false} />
      </section>
      ${id && html`<${PaymentDrawer} key=${id} id=${id} onChanged=${list.refresh} />`}
    </${ui.Page}>
  `;
}

const NoPayments = () => html`
  <${ui.Empty} title="No authentications yet. Your server creates them; to try it:">
    <${ui.Command}>./postback payments create --amount 1250 --currency EUR</${ui.Command}>
    <p>The <a href="/docs/guides/payments">guide</a> has the code of the browser.</p>
  </${ui.Empty}>
`;

/** @param {{ amount: number, currency: string }} payment */
function amountOf({ amount, currency }) {
  const format = new Intl.NumberFormat(undefined, { style: 'currency', currency });
  return format.format(amount / 10 ** (format.resolvedOptions().maximumFractionDigits ?? 2));
}

/** @param {{ id: string, onChanged: () => Promise<void> }} props */
function PaymentDrawer({ id, onChanged }) {
  const path = `/authentication/${encodeURIComponent(id)}`;
  const isEnded = (/** @type {Schemas['Authentication'] | undefined} */ payment) =>
    payment !== undefined && isFinalState(AUTHENTICATION_STATE_TABLE, payment.status);
  const found = useGet(path, (payment) => (isEnded(payment) ? 0 : 3_000), 'payment');
  const { data } = found;
  const close = useAction(() => call('POST', `${path}/close`, { as: 'payment' }), found.refresh, onChanged);
  const isOpen = data && !isEnded(data);
  const actions =
    isOpen && html`<${ui.ActionButton} run=${close.run}>Close it: the payment is done</${ui.ActionButton}>`;
  return html`
    <${ui.Drawer} name="Authentication" title=${data ? amountOf(data) : 'Authentication'} record=${found} error=${close.error} actions=${actions}>
      ${data && html`<${PaymentDetails} payment=${data} />`}
    </${ui.Drawer}>
  `;
}

/** @param {{ payment: Schemas['Authentication'] }} props */
function PaymentDetails({ payment }) {
  const { eligibility_check: check } = payment;
  return html`
    <${ui.Facts} entries=${[
      ['State', html`<${ui.State} of=${AUTHENTICATION_STATE_TABLE} state=${payment.status} />`],
      ['Created', html`<${ui.Time} at=${payment.created_at} />`],
      ['Expires', html`<${ui.Time} at=${payment.expires_at} />`],
      ['Closed', payment.closed_at && html`<${ui.Time} at=${payment.closed_at} />`],
      ['Returns to', payment.return_url],
      ['Callback to', payment.webhook_url],
      [
        'Its attempts',
        payment.webhook_url &&
          isFinalState(AUTHENTICATION_STATE_TABLE, payment.status) &&
          html`<a href=${linkTo('deliveries', { kind: 'authentication', doc_id: payment.authentication_id })}>with the request and its signature</a>`,
      ],
      ['Authentication', html`<code>${payment.authentication_id}</code>`],
    ]} />
    <h3>Eligibility check</h3>
    ${
      check
        ? html`
          <p>The answer to the browser: <b>${check.sdk_next_action.replaceAll('_', ' ')}</b>, <${ui.Time} at=${check.checked_at} /></p>
          <ul class="rows">
            ${check.reasons.map(({ network, signal, effect }) => html`<li><b>${network}</b><span class="grow">${signal.replaceAll('_', ' ')}</span><span class="muted">${effect.replaceAll('_', ' ')}</span></li>`)}
          </ul>
        `
        : html`<p class="muted">Not yet: the customer's browser submits it.</p>`
    }
    ${payment.customer && html`<h3>Customer</h3><${ui.Json} label="Customer" value=${payment.customer} />`}
    ${Object.keys(payment.metadata).length > 0 && html`<h3>Metadata</h3><${ui.Json} label="Metadata" value=${payment.metadata} />`}
  `;
}
