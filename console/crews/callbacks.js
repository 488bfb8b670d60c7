import { html } from '../html.js';
import { Field } from '../ui.js';

/** The receivers of an execution, with the names of the API. */
const CALLBACKS = /** @type {const} */ ([
  ['taskWebhookUrl', 'When a task ends'],
  ['stepWebhookUrl', 'After each step'],
  ['crewWebhookUrl', 'When the crew ends'],
]);

/** @typedef {Record<string, string>} Urls by the names of the API */

/** The receivers of a record. @param {Record<string, any>} record @returns {Urls} */
export const urlsOf = (record) => Object.fromEntries(CALLBACKS.map(([name]) => [name, record[name] ?? '']));

/** Those that are given. @param {Urls} urls @returns {Urls} */
export const givenUrls = (urls) => Object.fromEntries(Object.entries(urls).filter(([, url]) => url.trim()));

/** @param {{ urls: Urls, onChange: (urls: Urls) => void }} props */
export const CallbackFields = ({ urls, onChange }) => html`
  <div class="filters">
    ${CALLBACKS.map(
      ([name, label]) => html`
        <${Field} label=${label} type="url" placeholder="https://" value=${urls[name] ?? ''}
          onInput=${(/** @type {string} */ url) => onChange({ ...urls, [name]: url })} />
      `,
    )}
  </div>
`;
