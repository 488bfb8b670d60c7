import { useState } from 'preact/hooks';
import { CopyButton } from './copy.js';
import { html } from './html.js';
import { Block } from './ui.js';
import { signatureOf, verifyingCode } from './verify-code.js';

/** @typedef {import('./verify-code.js').SentRequest} SentRequest */

/** @param {{ request: SentRequest }} props */
export const SentRequestDetails = ({ request: { url, headers, body } }) => html`
  <${Block} label="Request headers">${`POST ${url}\n${headerLines(headers)}`}</${Block}>
  <${Block} label="Request body">${readable(body)}</${Block}>
`;

/** @param {Record<string, string>} headers */
export const headerLines = (headers) =>
  Object.entries(headers)
    .map(([name, value]) => `${name}: ${value}`)
    .join('\n');

/** JSON is indented. @param {string} body */
export function readable(body) {
  try {
    return JSON.stringify(JSON.parse(body), null, 2);
  } catch {
    return body;
  }
}

const LANGUAGES = /** @type {[import('./verify-code.js').Language, string][]} */ ([
  ['typescript', 'TypeScript'],
  ['python', 'Python'],
]);

/** A program that verifies this very request. @param {{ request: SentRequest }} props */
export function VerifySample({ request }) {
  const [language, setLanguage] = useState(LANGUAGES[0]?.[0] ?? 'typescript');
  if (signatureOf(request) === 'none') {
    return html`<p class="muted">It is not signed: there is no signing secret.</p>`;
  }
  const code = verifyingCode(language, request);
  return html`
    <div class="samples">
      <div class="samples-head">
        <div class="segmented" role="group" aria-label="Language">
          ${LANGUAGES.map(
            ([value, label]) => html`
              <button type="button" aria-pressed=${value === language ? 'true' : 'false'} onClick=${() => setLanguage(value)}>${label}</button>
            `,
          )}
        </div>
        <${CopyButton} text=${code} />
      </div>
      <${Block} label="Code that verifies this request">${code}</${Block}>
    </div>
  `;
}
