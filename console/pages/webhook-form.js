import { useState } from 'preact/hooks';
import { call } from '../api.js';
import { html } from '../html.js';
import { Icon } from '../icons.js';
import { useAction } from '../live.js';
import * as ui from '../ui.js';

/** @typedef {import('../api.js').Schemas['WebhookRegistration']} Registration */
/** @typedef {{ name: string, value: string }} Header */

/** @type {Registration['event_types']} */
const EVENTS = ['indexing.status_changed'];
const MAX_HEADERS = 10;

/**
 * Registers a receiver, or changes the one that is registered.
 * @param {object} props
 * @param {Registration} props.registration
 * @param {(secret: string) => Promise<void>} props.onSaved with the signing secret when one was generated, or an empty text
 * @param {(() => void) | undefined} props.onCancel
 */
export function RegistrationForm({ registration, onSaved, onCancel }) {
  const { registered } = registration;
  const [url, setUrl] = useState(registration.url ?? '');
  const [events, setEvents] = useState(registered ? registration.event_types : EVENTS);
  const [rate, setRate] = useState(String(registration.max_per_second ?? ''));
  const [signs, setSigns] = useState(!registered);
  // Values are never shown: static headers are kept as they are, or all of them are given anew.
  const [headers, setHeaders] = useState(/** @type {Header[] | null} */ (registered ? null : []));
  const save = useAction(async () => {
    const body = {
      url: url.trim(),
      event_types: events,
      ...(headers === null
        ? {}
        : { headers: Object.fromEntries(headers.map(({ name, value }) => [name.trim(), value.trim()])) }),
      ...(rate === '' ? {} : { max_per_second: Number(rate) }),
      ...(signs ? { generate_signing_secret: true } : {}),
    };
    const { signing_secret = '' } = await call('POST', '/webhooks/indexing', { body });
    await onSaved(signing_secret);
  });
  return html`
    <form class="card receiver-form" onSubmit=${save.submit} aria-label=${registered ? 'Change the receiver' : 'Register a receiver'}>
      <h2>${registered ? 'Change the receiver' : 'Register a receiver'}</h2>
      <${ui.Field} label="Address" type="url" value=${url} required maxlength="2048" placeholder="https://example.com/hooks/indexing" spellcheck="false" onInput=${setUrl} />
      <fieldset>
        <legend>Events</legend>
        ${EVENTS.map(
          (name) => html`
            <label class="check">
              <input type="checkbox" checked=${events.includes(name)} required=${events.length === 0}
                onChange=${(/** @type {any} */ event) => setEvents(event.target.checked ? [...events, name] : events.filter((each) => each !== name))} />
              <code>${name}</code>
            </label>
          `,
        )}
      </fieldset>
      <fieldset>
        <legend>Static headers, for a gateway before the receiver</legend>
        ${
          headers === null
            ? html`<${KeptHeaders} names=${registration.header_names} onReplace=${() => setHeaders([])} />`
            : html`<${HeaderInputs} headers=${headers} onChange=${setHeaders} />`
        }
      </fieldset>
      <${ui.Field} className="short" label="Requests per second, at most" type="number" min="1" max="1000" value=${rate} placeholder="no limit" onInput=${setRate} />
      ${
        !registered &&
        html`
          <label class="check">
            <input type="checkbox" checked=${signs} onChange=${(/** @type {any} */ event) => setSigns(event.target.checked)} />
            Sign the webhooks with a generated secret, which is shown once
          </label>
        `
      }
      <${ui.Problem} error=${save.error} />
      <div class="decision">
        <button type="submit" class="primary" disabled=${save.busy}>${registered ? 'Save' : 'Register'}</button>
        ${onCancel && html`<button type="button" class="quiet" onClick=${onCancel}>Cancel</button>`}
      </div>
      ${!registered && html`<p class="muted">To try it without a server of your own: <code>./postback listen --register</code></p>`}
    </form>
  `;
}

/** @param {{ names: string[], onReplace: () => void }} props */
const KeptHeaders = ({ names, onReplace }) => html`
  <p class="muted">${names.length === 0 ? 'None.' : html`<b>${names.join(', ')}</b> ${names.length === 1 ? 'is' : 'are'} kept while the origin of the address stays the same. Values are not shown.`}</p>
  <div><button type="button" onClick=${onReplace}>${names.length === 0 ? 'Add headers' : 'Replace or remove them'}</button></div>
`;

/** @param {{ headers: Header[], onChange: (headers: Header[]) => void }} props */
const HeaderInputs = ({ headers, onChange }) => html`
  ${headers.map(
    (header, index) => html`
      <div class="header-inputs" role="group" aria-label=${`Header ${index + 1}`}>
        <${ui.Field} label="Name" value=${header.name} required maxlength="100" placeholder="Authorization" spellcheck="false" autocomplete="off"
          onInput=${(/** @type {string} */ name) => onChange(headers.with(index, { ...header, name }))} />
        <${ui.Field} label="Value" type="password" value=${header.value} required autocomplete="off" spellcheck="false"
          onInput=${(/** @type {string} */ value) => onChange(headers.with(index, { ...header, value }))} />
        <button type="button" class="quiet icon-only" aria-label=${`Remove header ${index + 1}`} onClick=${() => onChange(headers.toSpliced(index, 1))}><${Icon} name="close" /></button>
      </div>
    `,
  )}
  <div><button type="button" disabled=${headers.length >= MAX_HEADERS} onClick=${() => onChange([...headers, { name: '', value: '' }])}>Add a header</button></div>
`;
