import { html } from './html.js';
import { Samples } from './samples.js';
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

/** A program that verifies this very request. @param {{ request: SentRequest }} props */
export const VerifySample = ({ request }) =>
  signatureOf(request) === 'none'
    ? html`<p class="muted">It is not signed: there is no signing secret.</p>`
    : html`
        <${Samples} describe=${() => 'Code that verifies this request'}
          samples=${{ TypeScript: verifyingCode('typescript', request), Python: verifyingCode('python', request) }} />
      `;
