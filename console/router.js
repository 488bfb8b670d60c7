import { useEffect } from 'preact/hooks';
import { withQuery } from './api.js';
import { changesOf, useChanging } from './changes.js';

/** @typedef {{ page: string, parameters: Record<string, string> }} Route */

/** The page and its parameters, which are in the fragment of the address: `#/items?database=library`. @returns {Route} */
function currentRoute() {
  const [page = '', query = ''] = location.hash.replace(/^#\/?/, '').split('?');
  return { page: page || 'overview', parameters: Object.fromEntries(new URLSearchParams(query)) };
}

/** @param {string} page @param {Record<string, string | null | undefined>} [parameters] */
export const linkTo = (page, parameters = {}) => withQuery(`#/${page}`, parameters);

/** @param {string} page @param {Record<string, string | null | undefined>} [parameters] */
export function go(page, parameters = {}) {
  location.hash = linkTo(page, parameters);
}

/** A link to the same page with some parameters changed. @param {Record<string, string | null | undefined>} changed */
export function linkHere(changed) {
  const { page, parameters } = currentRoute();
  return linkTo(page, { ...parameters, ...changed });
}

/** The same page with some parameters changed. @param {Record<string, string | null | undefined>} changed */
export function change(changed) {
  location.hash = linkHere(changed);
}

/** Closes the record that is open beside its list. */
export const closeRecord = () => change({ id: '', run: '', collection: '' });

export const useRoute = () => useChanging(changesOf(window, 'hashchange'), currentRoute);

/** Moves the focus to the title when a page changes its view: the link that was pressed is gone. @param {string} view */
export function useFocusOnTitle(view) {
  useEffect(() => {
    // A panel that is open has the focus.
    if (document.querySelector('[role=dialog]')) return;
    /** @type {HTMLElement | null} */ (document.querySelector('main h1'))?.focus();
  }, [view]);
}
