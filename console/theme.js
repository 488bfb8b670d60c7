const NAME = 'postback.theme';
const CHOICES = /** @type {const} */ (['system', 'light', 'dark']);

/** @typedef {typeof CHOICES[number]} Theme */

/** @returns {Theme} */
export function theme() {
  const stored = localStorage.getItem(NAME);
  return CHOICES.find((choice) => choice === stored) ?? 'system';
}

/** @param {Theme} choice */
export function setTheme(choice) {
  localStorage.setItem(NAME, choice);
  applyTheme();
}

export function applyTheme() {
  document.documentElement.dataset.theme = theme();
  dispatchEvent(new Event('themechange'));
}

/** @returns {Theme} the choice after the current one */
export function nextTheme() {
  return CHOICES[(CHOICES.indexOf(theme()) + 1) % CHOICES.length] ?? 'system';
}

// The system may change between light and dark at sunset.
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', applyTheme);
