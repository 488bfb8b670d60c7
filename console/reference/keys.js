/** The keys that requests from this page carry: those that were pasted here, else those of the console in this tab. */

/** The keys that the console keeps in this tab, by security scheme. */
const SESSION_KEYS = /** @type {Record<string, string[]>} */ ({
  api_key: ['postback.key.api'],
  crew_key: ['postback.key.crew'],
  organisation_key: ['postback.key.api', 'postback.key.crew'],
  payment_key: ['postback.key.payment'],
});

/** They stay in the tab until the console signs out. @param {string} scheme */
const pastedName = (scheme) => `postback.docs.key.${scheme}`;

/** Has an event `change` when a key was pasted or removed. */
export const keyChanges = new EventTarget();

/** @param {string} scheme @returns {string | undefined} */
export function keyFor(scheme) {
  const names = [pastedName(scheme), ...(SESSION_KEYS[scheme] ?? [])];
  return names.map((name) => sessionStorage.getItem(name)).find((key) => key !== null) ?? undefined;
}

/** @returns the security schemes with a key */
export const schemesWithKey = () => Object.keys(SESSION_KEYS).filter((scheme) => keyFor(scheme) !== undefined);

/** @param {string} scheme @param {string} key */
export function keepPasted(scheme, key) {
  if (key !== keyFor(scheme)) sessionStorage.setItem(pastedName(scheme), key);
  keyChanges.dispatchEvent(new Event('change'));
}

/** @param {string[]} schemes */
export function forgetPasted(schemes) {
  for (const scheme of schemes) sessionStorage.removeItem(pastedName(scheme));
  keyChanges.dispatchEvent(new Event('change'));
}
