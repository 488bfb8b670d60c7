import { useEffect } from 'preact/hooks';

/** Moves the focus to the title when a page changes its view: the link that was pressed is gone. @param {string} view */
export function useFocusOnTitle(view) {
  useEffect(() => {
    // A panel that is open has the focus.
    if (document.querySelector('[role=dialog]')) return;
    /** @type {HTMLElement | null} */ (document.querySelector('main h1'))?.focus();
  }, [view]);
}
