/** The call at the top of the page, sent from here with the key of this tab. */
import { keyChanges, keyFor } from './keys.js';

/** @param {string} selector @returns {HTMLElement} */
const find = (selector) => /** @type {HTMLElement} */ (document.querySelector(selector));
/** @param {string} selector */
const textOf = (selector) => find(selector).textContent ?? '';

async function send() {
  const headers = { Authorization: `Bearer ${keyFor('api_key')}`, 'Content-Type': 'application/json' };
  const response = await fetch(textOf('#first-path'), { method: 'POST', headers, body: textOf('#first-body') });
  return `HTTP ${response.status}\n${JSON.stringify(await response.json(), null, 2)}`;
}

function showWays() {
  const hasKey = keyFor('api_key') !== undefined;
  find('.with-key').hidden = !hasKey;
  find('.without-key').hidden = hasKey;
}

find('#first-send').addEventListener('click', async () => {
  const shown = find('#first-response');
  shown.textContent = await send().catch((error) => `The request failed: ${error.message}`);
  shown.hidden = false;
});
keyChanges.addEventListener('change', showWays);
showWays();
