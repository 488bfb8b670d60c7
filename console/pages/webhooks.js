import { useState } from 'preact/hooks';
import { call } from '../api.js';
import { Confirm } from '../dialogs.js';
import { headerLines, readable, SentRequestDetails, VerifySample } from '../exchange.js';
import { count, duration } from '../format.js';
import { html } from '../html.js';
import { useAction, useGet } from '../live.js';
import { linkTo } from '../router.js';
import { SigningSecret } from '../signing-secret.js';
import * as ui from '../ui.js';
import { RegistrationForm } from './webhook-form.js';

/** @typedef {import('../api.js').Schemas['WebhookRegistration']} Registration */
/** @typedef {import('../api.js').Schemas['TestDelivery']} TestDelivery */

const PATH = '/webhooks/indexing';

export function Webhooks() {
  const found = useGet(PATH, 15_000);
  const [changes, setChanges] = useState(false);
  const [secret, setSecret] = useState('');
  const { data } = found;
  /** @param {string} generated the signing secret, or empty */
  const onSaved = async (generated) => {
    setChanges(false);
    setSecret(generated);
    await found.refresh();
  };
  return html`
    <${ui.Page} title="Webhooks" lead="A receiver gets a signed request when an item is indexed, or has failed.">
      <${ui.Loaded} of=${found} retry=${found.refresh} />
      ${
        secret &&
        html`
          <section class="card secret-once" aria-label="New signing secret">
            <h2>The signing secret of this receiver. It cannot be shown again.</h2>
            <${ui.Command} label="New signing secret of the receiver">${secret}</${ui.Command}>
            <div><button type="button" onClick=${() => setSecret('')}>I have stored it</button></div>
          </section>
        `
      }
      ${data && (!data.registered || changes) && html`<${RegistrationForm} registration=${data} onSaved=${onSaved} onCancel=${data.registered ? () => setChanges(false) : undefined} />`}
      ${data?.registered && !changes && html`<${Receiver} registration=${data} onChange=${() => setChanges(true)} refresh=${found.refresh} />`}
    </${ui.Page}>
  `;
}

/** @param {{ registration: Registration, onChange: () => void, refresh: () => Promise<void> }} props */
function Receiver({ registration, onChange, refresh }) {
  const { url, event_types, header_names, max_per_second, disabled_at, disabled_reason } = registration;
  const [asks, setAsks] = useState(/** @type {'' | 'disable' | 'delete'} */ (''));
  // Registered again as it is: what cannot be read is kept.
  const enable = useAction(
    () => call('POST', PATH, { body: { url, event_types, ...(max_per_second ? { max_per_second } : {}) } }),
    refresh,
  );
  const disable = () => call('POST', `${PATH}/disable`).then(refresh);
  const remove = () => call('DELETE', PATH).then(refresh);
  const close = () => setAsks('');
  return html`
    ${
      disabled_at &&
      html`
        <div class="problem" role="alert">
          <span>Disabled since <${ui.Time} at=${disabled_at} />: ${disabled_reason}</span>
          <${ui.ActionButton} run=${enable.run}>Enable</${ui.ActionButton}>
        </div>
      `
    }
    <${ui.Problem} error=${enable.error} />
    <section class="card" aria-label="Receiver">
      <header class="card-head"><h2>Receiver</h2></header>
      <${ui.Facts} entries=${[
        [
          'State',
          disabled_at
            ? html`<${ui.Tag} tone="bad">disabled</${ui.Tag}>`
            : html`<${ui.Tag} tone="good">enabled</${ui.Tag}>`,
        ],
        ['Address', html`<code>${url}</code>`],
        ['Events', event_types.join(', ')],
        ['Static headers', header_names.length > 0 ? `${header_names.join(', ')} (values are not shown)` : 'none'],
        ['Per second', max_per_second ? `at most ${count(max_per_second)}` : 'no limit'],
        ['Deliveries', html`<a href=${linkTo('deliveries', { kind: 'item' })}>with every attempt</a>`],
      ]} />
      <div class="decision card-end">
        <button type="button" onClick=${onChange}>Change</button>
        ${!disabled_at && html`<button type="button" class="quiet" onClick=${() => setAsks('disable')}>Disable</button>`}
        <button type="button" class="quiet" onClick=${() => setAsks('delete')}>Delete</button>
      </div>
    </section>
    <section class="card" aria-label="Signing secret">
      <h2>Signing secret</h2>
      <${SigningSecret} path=${`${PATH}/signing-secret`} isConfigured=${registration.signing_secret_configured} signs="webhooks" onChanged=${refresh} />
    </section>
    <${Test} />
    ${
      asks === 'disable' &&
      html`
        <${Confirm} title="Disable webhooks" action="Disable" run=${disable} onClose=${close}>
          <p>No webhook is sent until you enable them again. Deliveries meanwhile fail for good, and can be sent again on the page Deliveries.</p>
        </${Confirm}>
      `
    }
    ${
      asks === 'delete' &&
      html`
        <${Confirm} title="Delete the receiver" action="Delete the receiver" run=${remove} onClose=${close}>
          <p>Items are indexed without webhooks from then on. The signing secret and the static headers are deleted, too.</p>
        </${Confirm}>
      `
    }
  `;
}

/** Sends a test, and shows what was sent and what came back. */
function Test() {
  const [result, setResult] = useState(/** @type {TestDelivery | undefined} */ (undefined));
  const test = useAction(async () => setResult(await call('POST', `${PATH}/test`)));
  return html`
    <section class="card" aria-label="Test">
      <header class="card-head">
        <h2>Test</h2>
        <${ui.ActionButton} className="primary" run=${test.run}>Send a test</${ui.ActionButton}>
      </header>
      <p class="muted">Sends one request about an item that does not exist, marked with <code>"test": true</code>. It is not retried, and not listed.</p>
      <${ui.Problem} error=${test.error} />
      ${result && html`<${TestResult} result=${result} />`}
    </section>
  `;
}

/** @param {{ result: TestDelivery }} props */
const TestResult = ({ result: { delivered, message, request, response } }) => html`
  <p role="status"><${ui.Tag} tone=${delivered ? 'good' : 'bad'}>${message}</${ui.Tag}></p>
  <div class="halves exchange">
    <div>
      <h3>Request</h3>
      <${SentRequestDetails} request=${request} />
    </div>
    <div>
      <h3>Response</h3>
      ${
        response
          ? html`
            <${ui.Block} label="Response headers">${`${response.status_code}, ${duration(response.duration_ms)}\n${headerLines(response.headers)}`}</${ui.Block}>
            ${response.body ? html`<${ui.Block} label="Response body">${readable(response.body)}</${ui.Block}>` : html`<p class="muted">It has no body.</p>`}
          `
          : html`<p class="muted">None.</p>`
      }
    </div>
  </div>
  <h3>Verify this request</h3>
  <${VerifySample} request=${request} />
`;
